// The CPU's operations that are one kernel each way: pools, local response norm, activations, dropout, the shortcut and
// the loss.
#include <algorithm>
#include <cmath>
#include <limits>

#include "device/cpu/cpu_plans.h"
#include "device/kernel_plan.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/tokens.h"

namespace eave {
namespace {

void drop_out(const CpuPass& pass, const DropoutShape& shape, const float* from, float* into) {
  const Batch& batch = pass.inputs->batch;
  const RandomKey key{pass.inputs->seed, Purpose::kDropout, shape.layer};
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    cpu::dropout(key, dropout_counter(batch, sample), shape.rate, shape.size, from + sample * shape.size,
                 into + sample * shape.size);
  }
}

}  // namespace

std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext&, const MaxPoolShape& shape) {
  const auto pool = geometry(shape);
  return make_kernel_plan<float>(
      [=](const auto& call) { cpu::max_pool(pool, call.input, call.output, call.saved); },
      [=](const auto& call) { cpu::max_pool_gradient(pool, call.saved, call.d_output, call.d_input); },
      pool_winners_size(shape));
}

std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext&, const AveragePoolShape& shape) {
  const auto pool = geometry(shape);
  return make_kernel_plan<float>(
      [=](const auto& call) { cpu::average_pool(pool, call.input, call.output); },
      [=](const auto& call) { cpu::average_pool_gradient(pool, call.d_output, call.d_input); });
}

std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext&, const LocalResponseShape& shape) {
  const auto norm = geometry(shape);
  return make_kernel_plan<float>(
      [=](const auto& call) { cpu::local_response_norm(norm, call.input, call.output); },
      [=](const auto& call) { cpu::local_response_norm_gradient(norm, call.input, call.d_output, call.d_input); });
}

std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext&, const ActivationShape& shape) {
  return make_kernel_plan<float>(
      [=](const auto& call) {
        cpu::activation_forward(shape.word, shape.parameter, call.input, call.output, call.count);
      },
      [=](const auto& call) {
        cpu::activation_backward(shape.word, shape.parameter, call.input, call.output, call.d_output, call.d_input,
                                 call.count);
      });
}

// The gradient has the same pattern and factor.
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const DropoutShape& shape) {
  const CpuPass& pass = context.pass;
  return make_kernel_plan<float>(
      [shape, &pass](const auto& call) { drop_out(pass, shape, call.input, call.output); },
      [shape, &pass](const auto& call) { drop_out(pass, shape, call.d_output, call.d_input); });
}

std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext&, const ShortcutShape& shape) {
  const auto shortcut = geometry(shape);
  return make_kernel_plan<float>(
      [=](const auto& call) { cpu::shortcut(shortcut, call.input, call.output); },
      [=](const auto& call) { cpu::shortcut_gradient(shortcut, call.d_output, call.d_input); });
}

std::unique_ptr<LossShape::Plan> make_cpu_plan(CpuContext& context, const LossShape& shape) {
  return make_plan_of<LossForward>([shape, &pass = context.pass](const LossForward& call) {
    const auto cross_entropy = shape.targets > 1 ? cpu::token_cross_entropy : cpu::softmax_cross_entropy;
    const auto totals = cross_entropy(call.logits.data(), pass.inputs->batch.labels.data(), shape.rows, shape.classes,
                                      {pass.inputs->loss_factor, call.d_logits.empty() ? 0 : shape.smoothing},
                                      array<float>(call.d_logits));
    pass.loss() = {totals.loss, totals.correct};
  });
}

// Model asks for no gate on the CPU, because it knows the loss before backward. This one is for other callers of a
// Compute, which offers all shapes on both devices.
std::unique_ptr<LossGateShape::Plan> make_cpu_plan(CpuContext& context, const LossGateShape&) {
  return make_plan_of<LossGateForward>([&pass = context.pass](const LossGateForward& call) {
    if (!std::isfinite(pass.loss().loss_sum)) std::ranges::fill(call.values, std::numeric_limits<float>::quiet_NaN());
  });
}

}  // namespace eave
