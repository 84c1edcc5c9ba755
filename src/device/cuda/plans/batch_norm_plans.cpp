// Batch norm on a GPU.
#include "device/cuda/plans/plans.h"
#include "device/kernel_plan.h"
#include "kernels/cuda/batch_norm.h"

namespace eave::cuda {
namespace {

std::int64_t norm_scratch_floats(const NormShape& norm) {
  return norm_scratch_bytes(norm) / static_cast<std::int64_t>(sizeof(float));
}

// T is the type of activations: float or Half.
template <class T>
std::unique_ptr<BatchNormShape::Plan> plan_batch_norm(cudaStream_t stream, const NormShape& norm) {
  return make_plan_of<BatchNormForward, BatchNormBackward>(
      [=](const BatchNormForward& call) {
        norm_forward<T>(
            stream, norm,
            {array<T>(call.input), array<T>(call.skip), call.scale.data(), call.shift.data(), array<T>(call.output),
             call.saved.data(), array<float>(call.running_mean), array<float>(call.running_variance),
             array<float>(call.variance), kBatchNormMomentum, kBatchNormEpsilon},
            call.scratch.data());
      },
      [=](const BatchNormBackward& call) {
        norm_backward<T>(
            stream, norm,
            {array<T>(call.input), array<T>(call.output), call.scale.data(), call.saved.data(), array<T>(call.d_output),
             array<T>(call.d_more), array<T>(call.d_input), call.d_scale.data(), call.d_shift.data()},
            call.scratch.data());
      },
      {2 * norm.channels, norm_scratch_floats(norm)});
}

template <class T>
std::unique_ptr<FixedNormShape::Plan> plan_fixed_norm(cudaStream_t stream, const NormShape& norm) {
  return make_plan_of<FixedNormForward>(
      [=](const FixedNormForward& call) {
        norm_evaluate<T>(stream, norm,
                         {array<T>(call.input), array<T>(call.skip), call.scale.data(), call.shift.data(),
                          call.mean.data(), call.variance.data(), array<T>(call.output), kBatchNormEpsilon},
                         call.scratch.data());
      },
      {0, norm_scratch_floats(norm)});
}

}  // namespace

std::unique_ptr<BatchNormShape::Plan> make_plan(const Context& context, const BatchNormShape& shape) {
  const NormShape norm{shape.rows, shape.channels, shape.relu};
  return context.precision == Precision::kBf16 ? plan_batch_norm<Half>(context.stream, norm)
                                               : plan_batch_norm<float>(context.stream, norm);
}

std::unique_ptr<FixedNormShape::Plan> make_plan(const Context& context, const FixedNormShape& shape) {
  const NormShape norm{shape.rows, shape.channels, shape.relu};
  return context.precision == Precision::kBf16 ? plan_fixed_norm<Half>(context.stream, norm)
                                               : plan_fixed_norm<float>(context.stream, norm);
}

}  // namespace eave::cuda
