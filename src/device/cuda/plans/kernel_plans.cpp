// The GPU's operations that are one kernel each way: pools, local response norm, activations, dropout, the shortcut and
// the loss.
#include "device/cuda/passes/pass_memory.h"
#include "device/cuda/plans/plans.h"
#include "device/kernel_plan.h"
#include "eave/check.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/layers.h"

namespace eave::cuda {
namespace {

template <class Forward, class Backward>
std::unique_ptr<UnaryPlan> make_unary(const Context& context, const Forward& forward, const Backward& backward,
                                      std::int64_t saved_size = 0) {
  return context.precision == Precision::kBf16 ? make_kernel_plan<Half>(forward, backward, saved_size)
                                               : make_kernel_plan<float>(forward, backward, saved_size);
}

template <class T>
std::unique_ptr<LossShape::Plan> plan_loss(const Context& context, const Loss& shape) {
  return make_plan_of<LossForward>(
      [shape, &context](const LossForward& call) {
        const PassMemory& pass = *context.pass;
        const auto of_rows = array<double>(call.scratch);
        softmax_cross_entropy(context.stream, shape, 0, shape.rows, pass.block(), pass.labels(), array<T>(call.logits),
                              array<T>(call.d_logits), of_rows);
        sum_losses(context.stream, shape, of_rows, pass.totals());
      },
      {0, loss_scratch(shape) * static_cast<std::int64_t>(sizeof(double) / sizeof(float))});
}

}  // namespace

std::unique_ptr<UnaryPlan> make_plan(const Context& context, const MaxPoolShape& shape) {
  const auto pool = geometry(shape);
  const auto stream = context.stream;
  return make_unary(
      context, [=](const auto& call) { max_pool_forward(stream, pool, call.input, call.output, call.saved); },
      [=](const auto& call) { max_pool_backward(stream, pool, call.saved, call.d_output, call.d_input); },
      pool_winners_size(shape));
}

std::unique_ptr<UnaryPlan> make_plan(const Context& context, const AveragePoolShape& shape) {
  const auto pool = geometry(shape);
  const auto stream = context.stream;
  return make_unary(
      context, [=](const auto& call) { average_pool_forward(stream, pool, call.input, call.output); },
      [=](const auto& call) { average_pool_backward(stream, pool, call.d_output, call.d_input); });
}

std::unique_ptr<UnaryPlan> make_plan(const Context& context, const LocalResponseShape& shape) {
  const auto norm = geometry(shape);
  const auto stream = context.stream;
  return make_unary(
      context, [=](const auto& call) { local_response_norm(stream, norm, call.input, call.output); },
      [=](const auto& call) { local_response_norm_gradient(stream, norm, call.input, call.d_output, call.d_input); });
}

std::unique_ptr<UnaryPlan> make_plan(const Context& context, const ActivationShape& shape) {
  const auto stream = context.stream;
  return make_unary(
      context,
      [=](const auto& call) {
        activation_forward(stream, shape.word, shape.parameter, call.input, call.output, call.count);
      },
      [=](const auto& call) {
        activation_backward(stream, shape.word, shape.parameter, call.input, call.output, call.d_output, call.d_input,
                            call.count);
      });
}

// The gradient has the same pattern and factor.
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const DropoutShape& shape) {
  const auto drop_out = [&context, kernel = Dropout{shape.samples, shape.size, shape.rate, shape.layer}](
                            const auto* from, auto* into) {
    dropout(context.stream, kernel, context.pass->block(), context.pass->indices(), from, into);
  };
  return make_unary(
      context, [=](const auto& call) { drop_out(call.input, call.output); },
      [=](const auto& call) { drop_out(call.d_output, call.d_input); });
}

std::unique_ptr<UnaryPlan> make_plan(const Context& context, const ShortcutShape& shape) {
  const auto shortcut = geometry(shape);
  const auto stream = context.stream;
  return make_unary(
      context, [=](const auto& call) { shortcut_forward(stream, shortcut, call.input, call.output); },
      [=](const auto& call) { shortcut_backward(stream, shortcut, call.d_output, call.d_input); });
}

std::unique_ptr<LossShape::Plan> make_plan(const Context& context, const LossShape& shape) {
  const Loss loss{shape.rows, shape.classes, shape.targets, shape.smoothing};
  return context.precision == Precision::kBf16 ? plan_loss<Half>(context, loss) : plan_loss<float>(context, loss);
}

std::unique_ptr<LossGateShape::Plan> make_plan(const Context& context, const LossGateShape&) {
  return make_plan_of<LossGateForward>([&context](const LossGateForward& call) {
    spoil_if_not_finite(context.stream, context.pass->totals(), call.values.data(), std::ssize(call.values));
  });
}

}  // namespace eave::cuda
