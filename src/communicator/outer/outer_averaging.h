// The base of the methods with an outer optimizer: bmuf, slowmo and diloco. Workers train on their own for tau steps.
// Then the outer optimizer moves the center, and the workers begin anew from there. Each method only describes its
// optimizer.
//
//   x_i <- x_i - step_i  in every step;   after every tau-th step  G = begun - sum_j w_j x_j,  w_j = n_j / sum_k n_k,
//   n_j = samples of rank j since the exchange before;  (c, v) <- outer step with G;   x_i <- c - ahead v = begun
//
// Every rank holds c and v and takes the same outer step, so their bits are the same everywhere and no server is
// needed. A rank without samples takes part with weight 0 and begins anew as all ranks do.
//
// Rounds: each exchange is one all-reduce of the parameters, for which all ranks wait: M bytes, 2 M (p-1)/p on the wire
// per rank. --worker-momentum average adds one all-reduce per vector of the worker's optimizer. Between exchanges the
// method sends nothing and computes nothing. It is deterministic: results depend on the numbers alone, never on timing.
//
// The consensus is c, as the last exchange left it.
//
// --compression: workers send w_j (x_j - begun) with error feedback (MeanExchange). The outer step takes begun + their
// sum as the mean.
//
// A run that goes on with another number of ranks (--resume elastic) gets c and v and continues the block that was
// under way. Workers that were there keep their parameters and n_j. New workers begin where the others began the block,
// with n_j = 0. If the look-ahead depends on p, it changes with p. Former workers then move by the same change, so x_j
// - begun stays.
//
// Under Nesterov momentum a worker holds the look-ahead point at which the next gradient is taken, and the method
// averages these points, as local-sgd does.
#pragma once

#include <functional>
#include <string>

#include "communicator/outer/outer_optimizer.h"
#include "communicator/outer/worker_momentum.h"
#include "communicator/support/local_steps.h"
#include "eave/communicator.h"

namespace eave {

struct OuterSettings {
  LocalStepsSettings steps;  // tau and warmup
  WorkerMomentum momentum = WorkerMomentum::kLocal;
  std::shared_ptr<const Codec> codec = nullptr;  // compresses exchanges; nullptr: none
  int optimizer_vectors = -1;                    // as in CommunicatorContext
  std::string look_ahead = {};                   // a line of the card, under Nesterov momentum of the workers
  double ahead = 0;
  // `ahead` for a number of workers. Not set: `ahead` does not depend on it.
  std::function<double(int workers)> ahead_of = {};
  // The outer step of an exchange, from the learning rate of the step before it.
  std::function<OuterStep(double learning_rate)> step;
  std::string formula;  // "v <- …;  c <- …"
  std::string numbers;  // "eta_b = 0.5, …"
  // The size of the outer step. It is stable while factor · k is below stable_factor_limit(outer_momentum, nesterov).
  double factor = 1;
  std::string factor_symbol, factor_option, momentum_symbol;
  double outer_momentum = 0;
  bool nesterov = false;
};

// --tau, --worker-momentum, --tau-warmup, followed by `own`.
std::vector<OptionSpec> outer_options(const std::string& default_tau, const std::vector<OptionSpec>& own);
// The settings that these options and --compression give. The method fills in the rest.
OuterSettings outer_settings_in(const CommunicatorContext& context);
// The step size of option `name`: above 0, at most 10^6. Throws Error(kUsage) otherwise.
double outer_rate_in(const OptionValues& values, const std::string& name);

// Makes the method. Warns if no exchange will take place, and if the outer step is unstable.
std::unique_ptr<Communicator> make_outer_averaging(const CommunicatorContext& context, const OuterSettings& settings);

}  // namespace eave
