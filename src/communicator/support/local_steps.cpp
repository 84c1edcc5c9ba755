#include "communicator/support/local_steps.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace eave {
namespace {

constexpr double kLongest = 1e9;  // steps; a limit, because tau of an exploding loss may not fit an integer

}  // namespace

LocalSteps::LocalSteps(Transport& transport, const LocalStepsSettings& settings)
    : transport_(transport), settings_(settings) {}

std::int64_t LocalSteps::first_local() const { return std::max(settings_.post_local_at, settings_.warmup); }

std::int64_t LocalSteps::tau() const {
  const std::int64_t adapted = kept_.integer(kTau);
  return adapted > 0 ? adapted : settings_.tau;
}

bool LocalSteps::end_step(const Step& step) {
  if (averages_gradients(step)) return false;
  if (step.index < settings_.warmup) return true;
  if (!settings_.adaptive) return (step.index + 1 - first_local()) % settings_.tau == 0;
  const std::int64_t steps = kept_.integer(kStepsSince) + 1;
  kept_.set(kStepsSince, steps);
  kept_.set(kLossSince, kept_.real(kLossSince) + step.loss_sum);
  return steps >= tau();
}

void LocalSteps::restart() {
  kept_.set(kStepsSince, std::int64_t{0});
  kept_.set(kLossSince, 0.0);
}

double LocalSteps::adapt(std::int64_t samples) {
  if (!settings_.adaptive || kept_.integer(kStepsSince) == 0) return 0;
  const auto start = std::chrono::steady_clock::now();
  const double loss = sum_over_ranks(transport_, {kept_.real(kLossSince)})[0] / static_cast<double>(samples);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  restart();
  if (kept_.real(kFirstLoss) == 0) {
    kept_.set(kFirstLoss, loss);
    return seconds;
  }
  const double tau = std::ceil(std::sqrt(loss / kept_.real(kFirstLoss)) * static_cast<double>(settings_.tau));
  // If the loss is NaN, tau stays. The training loop handles such a loss.
  if (!std::isnan(tau)) kept_.set(kTau, static_cast<std::int64_t>(std::clamp(tau, 1.0, kLongest)));
  return seconds;
}

}  // namespace eave
