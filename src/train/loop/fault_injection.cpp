#include "train/loop/fault_injection.h"

#include <bit>
#include <limits>
#include <thread>

namespace eave {

Slice FaultInjection::element_of(Slice values) const {
  return values.subspan(static_cast<std::size_t>(fault_.element) % values.size(), 1);
}

void FaultInjection::around(std::int64_t step, const std::function<void()>& train) {
  if (!is_due(step, InjectedFault::Kind::kNanLoss)) return train();
  // A parameter of the last layer: behind earlier ones, a library's relu may turn NaN into 0.
  const TensorInfo& last = replica_.model.parameters().back();
  const Slice place = replica_.parameters.slice().subspan(static_cast<std::size_t>(last.offset), 1);
  float before = 0;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  replica_.device.read(place, Slice(&before, 1));
  replica_.device.write(place, ConstSlice(&nan, 1));
  train();
  replica_.device.write(place, ConstSlice(&before, 1));
}

void FaultInjection::in_gradients(std::int64_t step, Slice part) {
  const bool is_nan = is_due(step, InjectedFault::Kind::kNanGradient);
  if (!is_nan && !is_due(step, InjectedFault::Kind::kInfGradient)) return;
  const Slice place = element_of(replica_.gradients.slice());
  if (place.data() < part.data() || place.data() >= part.data() + part.size()) return;
  const float value = is_nan ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  replica_.device.write(place, ConstSlice(&value, 1));
}

void FaultInjection::after_step(std::int64_t step) {
  if (!is_due(step, InjectedFault::Kind::kFlippedBit)) return;
  const std::vector<Slice> replicated = communicator_.replicated();
  const Slice place = element_of(replicated.empty() ? replica_.parameters.slice() : replicated.front());
  float value = 0;
  replica_.device.read(place, Slice(&value, 1));
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (std::uint32_t{1} << (fault_.bit & 31)));
  replica_.device.write(place, ConstSlice(&value, 1));
}

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
