#include "communicator/outer/outer_optimizer.h"

#include "eave/check.h"
#include "eave/update_steps.h"

namespace eave {

void OuterOptimizer::begin(Device& device, ConstSlice parameters) {
  device_ = &device;
  center_ = device.allocate(parameters.size());
  velocity_ = device.allocate(parameters.size());
  device.copy(center_.slice(), parameters);
}

void OuterOptimizer::step(Slice mean, const OuterStep& step) {
  EAVE_CHECK(mean.size() == center_.slice().size(), "the mean is as large as the center");
  OuterKernelStep numbers;
  numbers.momentum = static_cast<float>(step.momentum);
  numbers.scale = static_cast<float>(step.scale);
  numbers.carry_left = static_cast<float>(step.velocity_rate * step.momentum - ahead_);
  numbers.step = static_cast<float>(step.velocity_rate * step.scale + step.gradient_rate);
  numbers.ahead = static_cast<float>(ahead_);
  device_->step_outer(center_.slice(), velocity_.slice(), mean, numbers);
}

void OuterOptimizer::write_beginning(Slice into, double ahead) const {
  device_->copy(into, center_.slice());
  if (ahead > 0) device_->add_scaled(into, static_cast<float>(-ahead), velocity_.slice());
}

double stable_factor_limit(double momentum, bool nesterov) {
  return 2 * (1 + momentum) / (nesterov ? 1 + 2 * momentum : 1);
}

}  // namespace eave
