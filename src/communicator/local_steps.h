// How many local steps lie between two exchanges of local-sgd.
#pragma once

#include <cstdint>

#include "communicator/kept_numbers.h"
#include "eave/communicator.h"

namespace eave {

// The first `post_local_at` steps average gradients; the first `warmup` steps are each followed by an exchange; at most
// one of the two is above 0. From then on an exchange follows every tau-th step.
//
// Adaptive (AdaComm; Wang, Joshi 2019): after exchange k, tau_k = ceil(sqrt(F_k / F_0) tau_0), at least 1. F_k is the
// mean loss per sample, over all ranks, of the steps since the exchange before, F_0 that of the first tau_0 steps. As
// the loss falls tau does; where it rises above F_0, tau rises above tau_0.
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
  // Once after each step: whether an exchange follows it.
  bool end_step(const Step& step);
  // Collective, at that exchange, where adaptive: a sum of one number. `samples` = of all ranks since the
  // exchange before. Elsewhere nothing. Returns the seconds it blocked.
  double adapt(std::int64_t samples);
  std::int64_t tau() const;
  // Where adaptive, steps and losses since the last exchange are forgotten.
  void restart();
  // For checkpoints.
  Slice state() { return kept_.slice(); }

 private:
  enum Kept : std::size_t { kTau, kStepsSince, kLossSince, kFirstLoss, kCount };
  std::int64_t first_local() const;

  Transport& transport_;
  LocalStepsSettings settings_;
  KeptNumbers kept_{kCount};  // tau as 0 while it is tau_0
};

}  // namespace eave
