// Local steps: what the methods share whose workers train on their own between exchanges. That is their options, lines
// of the card, and the steps after which they exchange.
#pragma once

#include <cstdint>
#include <string>

#include "base/options/option_values.h"
#include "eave/communicator.h"

namespace eave {

OptionSpec tau_option(const std::string& default_text = "10");
// --tau: at least 1, at most 10^15, so that sums of tau and of steps do not overflow.
std::int64_t tau_in(const OptionValues& values);

// --tau-warmup; 0: none. tau_warmup_in throws Error(kUsage) if --tau is 1 anyway.
OptionSpec tau_warmup_option();
std::int64_t tau_warmup_in(const OptionValues& values);
// The card's line about --tau-warmup; "" if there is none.
std::string describe_tau_warmup(std::int64_t steps);

// Appends a warning if a run of context.steps steps ends before the first exchange, which comes after `first` steps.
// `meaning` states the consequence.
void warn_without_exchange(const CommunicatorContext& context, std::int64_t first, const std::string& meaning);

// The traits of a method whose workers meet after tau local steps, and wait there for the sum of their parameters.
inline constexpr CommunicatorTraits kAveragesParameters = {.exchanges = ExchangePattern::kBlockingSums,
                                                           .has_center = true,
                                                           .resets_to_center = true,
                                                           .compresses = true,
                                                           .exchanges_together = true};

// The last line of the card of every method with local steps.
extern const char* const kLocalRate;

// Lines of the card that say which point a method exchanges under Nesterov's momentum. A worker holds y_i, the point
// ahead at which its next gradient is taken, and not the iterate x_i (Ahead in update_steps.h). y_i = x_i - lr mu v_i
// with --momentum-correction, and x_i - mu v_i without. Some methods exchange the x_i, others the y_i. Each function
// returns "" if the workers have no Nesterov momentum.
std::string describe_pulled_iterates(const CommunicatorContext& context);  // easgd and its kin
std::string describe_gossiped_iterates(const CommunicatorContext& context);
std::string describe_pushed_iterates(const CommunicatorContext& context);  // downpour and its kin
std::string describe_averaged_points(const CommunicatorContext& context);  // local-sgd, bmuf, slowmo, diloco

// The first `post_local_at` steps average gradients. An exchange follows each of the first `warmup` steps. At most one
// of the two is above 0. After these steps an exchange follows every tau-th step.
//
// Adaptive (AdaComm; Wang, Joshi 2019): after exchange k, tau_k = ceil(sqrt(F_k / F_0) tau_0), at least 1. F_k is the
// mean loss per sample, over all ranks, of the steps since the exchange before. F_0 is that of the first tau_0 steps.
// As the loss falls, tau falls. If the loss rises above F_0, tau rises above tau_0. A step of a rank whose loss is not
// finite counts neither in the loss nor in the samples. If no step of any rank is left, tau stays, and the next
// exchange gives F_0.
struct LocalStepsSettings {
  std::int64_t tau = 1;  // tau_0
  std::int64_t post_local_at = 0;
  std::int64_t warmup = 0;
  bool adaptive = false;
};

// Decides after which steps local-sgd and the outer methods exchange.
class LocalSteps {
 public:
  LocalSteps(Transport& transport, const LocalStepsSettings& settings);

  bool averages_gradients(const Step& step) const { return step.index < settings_.post_local_at; }
  // Whether an exchange follows this step, which has not ended yet.
  bool exchanges_after(const Step& step) const;
  // Call it once after each step. Returns whether an exchange follows the step.
  bool end_step(const Step& step);
  // If adaptive, call it on all ranks at each exchange: it sums two numbers over the ranks. Otherwise it does nothing.
  // `samples`: those of all ranks since the exchange before. Returns the seconds it blocked.
  double adapt(std::int64_t samples);
  std::int64_t tau() const;
  // If adaptive, forgets steps and losses since the last exchange.
  void restart();
  // For checkpoints.
  Slice state() { return kept_.slice(); }

 private:
  enum Kept : std::size_t { kTauAndWithoutLoss, kStepsSince, kLossSince, kFirstLoss, kCount };
  std::int64_t first_local() const;
  std::int64_t adapted_tau() const;           // 0 while tau is tau_0
  std::int64_t samples_without_loss() const;  // of this rank, since the last exchange
  void keep(std::int64_t adapted_tau, std::int64_t samples_without_loss);
  void follow_loss(double loss);  // F_k

  Transport& transport_;
  LocalStepsSettings settings_;
  // The first number has the adapted tau in its lower half, and in its upper half the samples without a loss. Early
  // checkpoints have only the tau there.
  CheckpointedNumbers kept_{kCount};
};

}  // namespace eave
