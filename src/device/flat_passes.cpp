// Device's passes: each runs one word of kernels/flat.
#include "eave/device.h"
#include "eave/update_steps.h"
#include "kernels/flat/flat_pass.h"

namespace eave {

std::shared_ptr<DeviceAnswer> Device::update_sgd(Slice parameters, ConstSlice gradients, Slice velocity,
                                                 const SgdStep& step, const Pull* pull, ConstSlice decay_shares) {
  if (velocity.empty()) return run({passes::Sgd{step}, {parameters, gradients}, {}, pull, decay_shares});
  if (step.nesterov) {
    return run({passes::Nesterov{step}, {parameters, gradients, velocity}, {}, pull, decay_shares});
  }
  return run({passes::HeavyBall{step}, {parameters, gradients, velocity}, {}, pull, decay_shares});
}

std::shared_ptr<DeviceAnswer> Device::update_adamw(Slice parameters, ConstSlice gradients, Slice first, Slice second,
                                                   const AdamwStep& step, const Pull* pull, ConstSlice decay_shares) {
  return run({passes::Adamw{step}, {parameters, gradients, first, second}, {}, pull, decay_shares});
}

void Device::pull_parameters(Slice parameters, const Pull& pull, const Ahead& ahead) {
  if (ahead.velocity.empty()) {
    run({passes::PullAlone{}, {parameters}, {}, &pull});
  } else {
    run({passes::PullAhead{ahead.factor}, {parameters, ahead.velocity}, {}, &pull});
  }
}

void Device::write_difference(Slice difference, ConstSlice parameters, ConstSlice center, float factor,
                              const Ahead& ahead) {
  run({passes::WriteDifference{factor}, {difference, parameters, center}, ahead});
}

void Device::move_center(Slice center, ConstSlice sum) { run({passes::MoveCenter{}, {center, sum}}); }

void Device::move_center_and_follow(Slice center, ConstSlice sum, Slice parameters, float alpha, const Ahead& ahead) {
  run({passes::MoveCenterAndFollow{1 - alpha}, {center, sum, parameters}, ahead});
}

void Device::step_outer(Slice center, Slice velocity, Slice mean, const OuterKernelStep& step) {
  run({passes::StepOuter{step}, {center, velocity, mean}});
}

void Device::move_average(Slice average, Slice rest, ConstSlice values, float share, const Ahead& ahead) {
  if (share == 1) {
    write_iterate(average, values, ahead);
    fill(rest, 0);
  } else {
    run({passes::MoveAverage{share}, {average, rest, values}, ahead});
  }
}

void Device::write_iterate(Slice into, ConstSlice parameters, const Ahead& ahead) {
  if (ahead.velocity.empty()) {
    copy(into, parameters);
  } else {
    run({passes::WriteIterate{ahead.factor}, {into, parameters, ahead.velocity}});
  }
}

void Device::write_displacement(Slice message, ConstSlice parameters, const Ahead& ahead) {
  run({passes::WriteDisplacement{}, {message, parameters}, ahead});
}

void Device::write_parameters(Slice parameters, ConstSlice iterate, const Ahead& ahead) {
  write_iterate(parameters, iterate, {ahead.velocity, -ahead.factor});
}

void Device::write_step(Slice into, ConstSlice parameters, ConstSlice gradients, float rate, float decay) {
  run({passes::WriteStep{rate, decay}, {into, parameters, gradients}});
}

void Device::subtract(Slice parameters, ConstSlice difference) { run({passes::Subtract{}, {parameters, difference}}); }

}  // namespace eave
