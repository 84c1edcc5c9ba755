// Decides after which steps local-sgd and the outer methods exchange.
#pragma once

#include <cstdint>

#include "communicator/center/kept_numbers.h"
#include "eave/communicator.h"

namespace eave {

// The first `post_local_at` steps average gradients. An exchange follows each of the first `warmup` steps. At most one
// of the two is above 0. After these steps an exchange follows every tau-th step.
//
// Adaptive (AdaComm; Wang, Joshi 2019): after exchange k, tau_k = ceil(sqrt(F_k / F_0) tau_0), at least 1. F_k is the
// mean loss per sample, over all ranks, of the steps since the exchange before. F_0 is that of the first tau_0 steps.
// As the loss falls, tau falls. If the loss rises above F_0, tau rises above tau_0.
struct LocalStepsSettings {
  std::int64_t tau = 1;  // tau_0
  std::int64_t post_local_at = 0;
  std::int64_t warmup = 0;
  bool adaptive = false;
};

class LocalSteps {
 public:
  LocalSteps(Transport& transport, const LocalStepsSettings& settings);

  bool averages_gradients(const Step& step) const { return step.index < settings_.post_local_at; }
  // Call it once after each step. Returns whether an exchange follows the step.
  bool end_step(const Step& step);
  // If adaptive, call it on all ranks at each exchange: it sums one number over the ranks. Otherwise it does nothing.
  // `samples`: those of all ranks since the exchange before. Returns the seconds it blocked.
  double adapt(std::int64_t samples);
  std::int64_t tau() const;
  // If adaptive, forgets steps and losses since the last exchange.
  void restart();
  // For checkpoints.
  Slice state() { return kept_.slice(); }

 private:
  enum Kept : std::size_t { kTau, kStepsSince, kLossSince, kFirstLoss, kCount };
  std::int64_t first_local() const;

  Transport& transport_;
  LocalStepsSettings settings_;
  KeptNumbers kept_{kCount};  // kTau is 0 while tau is tau_0
};

}  // namespace eave
