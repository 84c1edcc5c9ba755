// The methods whose workers train on their own for tau steps and then begin anew where an outer optimizer has moved the
// center: bmuf, slowmo and diloco are each a description of that optimizer.
//
//   x_i <- x_i - step_i  in every step;   after every tau-th step  G = begun - sum_j w_j x_j,  w_j = n_j / sum_k n_k,
//   n_j = samples of rank j since the exchange before;  (c, v) <- outer step with G;   x_i <- c - ahead v = begun.
//
// Every rank holds c and v and takes the same outer step: the same bits everywhere, no server. A rank without samples
// takes part with weight 0 and begins anew as all do.
//
// Rounds: one allreduce of the parameters per exchange, M bytes, 2 M (p-1)/p on the wire per rank, waited for; with
// --worker-momentum average one more per vector of the worker's optimizer. None between exchanges, and no work either.
// Deterministic: what comes out depends on the numbers alone, never on timing.
//
// What is evaluated is c, as the last exchange left it.
//
// --compression: what travels is w_j (x_j - begun), with error feedback (MeanExchange); the outer step takes begun +
// their sum as the mean.
//
// A run that goes on with other ranks (--resume elastic) has c and v, and the block that was under way goes on: workers
// that were there keep their parameters and n_j, new ones begin where those began their block, with n_j = 0. If the
// look-ahead depends on p, workers that go on are moved by what it has changed, so x_j - begun stays.
//
// Under Nesterov momentum of the workers their parameters are averaged as they are held, at the point ahead where the
// next gradient is taken, as in local-sgd.
#pragma once

#include <functional>
#include <string>

#include "communicator/local_steps.h"
#include "communicator/outer_optimizer.h"
#include "communicator/worker_momentum.h"
#include "eave/communicator.h"

namespace eave {

struct OuterSettings {
  LocalStepsSettings steps;  // tau and warmup
  WorkerMomentum momentum = WorkerMomentum::kLocal;
  std::shared_ptr<const Codec> codec = nullptr;  // that what is exchanged goes through
  int optimizer_vectors = -1;                    // as in CommunicatorContext
  std::string look_ahead = {};                   // of the card, under Nesterov momentum of the workers
  double ahead = 0;
  std::function<double(int workers)> ahead_of = {};     // with so many; not set: `ahead`, whatever their number
  std::function<OuterStep(double learning_rate)> step;  // of an exchange, by the rate of the step that it follows
  std::string formula;                                  // "v <- …;  c <- …"
  std::string numbers;                                  // "eta_b = 0.5, …"
  // How large its step is: stable while factor · k is below stable_factor_limit(outer_momentum, nesterov).
  double factor = 1;
  std::string factor_symbol, factor_option, momentum_symbol;
  double outer_momentum = 0;
  bool nesterov = false;
};

// --tau, --worker-momentum, --tau-warmup, followed by `own`.
std::vector<OptionSpec> outer_options(const std::string& default_tau, const std::vector<OptionSpec>& own);
// What those and --compression say, the rest to be filled in.
OuterSettings outer_settings_in(const CommunicatorContext& context);
// A step size: above 0, at most a million. Throws Error(kUsage).
double outer_rate_in(const OptionValues& values, const std::string& name);

// Warns where no exchange will take place, and where the outer step is unstable.
std::unique_ptr<Communicator> make_outer_averaging(const CommunicatorContext& context, const OuterSettings& settings);

}  // namespace eave
