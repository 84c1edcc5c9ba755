// Attention on a GPU, by the kernels of kernels/cuda/attention.h.
#include <limits>

#include "device/cuda/passes/pass_memory.h"
#include "device/cuda/plans/plans.h"
#include "device/kernel_plan.h"
#include "eave/check.h"
#include "kernels/cuda/attention.h"

namespace eave::cuda {
namespace {

Attention checked(const AttentionShape& shape) {
  if (shape.width > kMostHeadWidth) {
    throw Error(ExitCode::kConfiguration, "model: attention: a head has " + std::to_string(shape.width) +
                                              " channels, and a GPU takes at most " + std::to_string(kMostHeadWidth) +
                                              ": give more heads, or --device cpu");
  }
  EAVE_CHECK(shape.positions < std::numeric_limits<int>::max() / 2, std::to_string(shape.positions) + " positions");
  return {shape.samples, static_cast<int>(shape.positions), static_cast<int>(shape.heads),
          static_cast<int>(shape.groups), static_cast<int>(shape.width)};
}

template <class T>
std::unique_ptr<AttentionShape::Plan> plan_attention(const Context& context, const AttentionShape& shape) {
  const Attention kernel = checked(shape);
  const auto dropout = [&context, rate = shape.dropout, layer = shape.layer](bool training) {
    return training ? ShareDropout{rate, layer, context.pass->block(), context.pass->indices()} : ShareDropout{};
  };
  return make_plan_of<AttentionForward, AttentionBackward>(
      [=, &context](const AttentionForward& call) {
        attention(context.stream, kernel, dropout(!call.saved.empty()), array<T>(call.input), array<T>(call.output),
                  array<float>(call.saved));
      },
      [=, &context](const AttentionBackward& call) {
        attention_gradient(context.stream, kernel, dropout(true), array<T>(call.input), array<T>(call.output),
                           array<float>(call.saved), array<T>(call.d_output), array<T>(call.d_input),
                           array<float>(call.scratch));
      },
      {shape.samples * shape.heads * shape.positions, attention_scratch(kernel)});
}

}  // namespace

std::unique_ptr<AttentionShape::Plan> make_plan(const Context& context, const AttentionShape& shape) {
  return context.precision == Precision::kBf16 ? plan_attention<Half>(context, shape)
                                               : plan_attention<float>(context, shape);
}

}  // namespace eave::cuda
