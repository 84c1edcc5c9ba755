#include "train/watch/step_pace.h"

#include <thread>

namespace eave {

void StepPace::begin() {
  start_ = std::chrono::steady_clock::now();
  done_ = 0;
}

void StepPace::ready(std::size_t values) {
  constexpr double kForward = 1.0 / 3;
  done_ += static_cast<double>(values);
  reach(kForward + (1 - kForward) * done_ / values_);
}

void StepPace::end() { reach(1); }

void StepPace::reach(double share) const {
  if (seconds_ > 0) std::this_thread::sleep_until(start_ + std::chrono::duration<double>(share * seconds_));
}

}  // namespace eave
