#include "device/cuda/plans/cublas_dense.h"

#include <algorithm>
#include <utility>

#include "device/cuda/workspace_layout.h"
#include "device/kernel_arguments.h"
#include "eave/check.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"

namespace eave::cuda {

CublasDense::CublasDense(const Context& context, const DenseShape& shape, bool bias)
    : context_(context),
      libraries_(LibraryHandles::of(context)),
      shape_(shape),
      bias_(bias),
      half_(context.precision == Precision::kBf16) {
  forward_ = libraries_.plan(context, forward_product(shape, bias, half_));
  if (!shape.training) return;
  to_weights_ = libraries_.plan(context, weights_product(shape, half_));
  if (shape.input_gradient) to_input_ = libraries_.plan(context, input_product(shape, half_));
}

// All steps run one after another, so they share one piece of scratch.
std::int64_t CublasDense::scratch_size() const {
  std::int64_t bytes = forward_->workspace_bytes();
  if (shape_.training) {
    const std::int64_t sums = bias_scratch(shape_.samples, shape_.outputs) * std::int64_t{sizeof(double)};
    bytes = std::max(
        {bytes, to_weights_->workspace_bytes(), to_input_ ? to_input_->workspace_bytes() : 0, bias_ ? sums : 0});
  }
  WorkspaceLayout layout;
  layout.add(bytes);
  return layout.floats();
}

void CublasDense::forward(const LinearForward& call) {
  EAVE_CHECK(call.bias.empty() != bias_, "a dense layer's bias is planned for, and given, or neither");
  forward_->run(libraries_.cublas(), context_.stream,
                {context_.weights(call.weights), call.input.data(), bias_ ? context_.weights(call.bias) : nullptr,
                 call.output.data(), piece(call.scratch, 0)});
  if (!shape_.relu || forward_->product().relu) return;
  if (half_) {
    run_relu<Half>(call.output);
  } else {
    run_relu<float>(call.output);
  }
}

template <class T>
void CublasDense::run_relu(Slice output) {
  T* const values = array<T>(output);
  activation_forward(context_.stream, Elementwise::kRelu, 0, values, values, shape_.samples * shape_.outputs);
}

template <class T>
void CublasDense::run_back_through_relu_and_bias(const LinearBackward& call) {
  const T* output = shape_.relu ? array<T>(call.output) : nullptr;
  float* d_bias = array<float>(call.d_bias);
  if (output == nullptr && d_bias == nullptr) return;
  bias_backward(context_.stream, output, array<T>(call.d_output), d_bias, shape_.samples, shape_.outputs,
                piece<double>(call.scratch, 0));
}

void CublasDense::backward(const LinearBackward& call) {
  EAVE_CHECK(shape_.training, "backward of a plan for evaluation");
  if (half_) {
    run_back_through_relu_and_bias<Half>(call);
  } else {
    run_back_through_relu_and_bias<float>(call);
  }
  const float *first = call.d_output.data(), *second = call.input.data();
  if (shape_.transposed) std::swap(first, second);
  to_weights_->run(libraries_.cublas(), context_.stream,
                   {first, second, nullptr, call.d_weights.data(), piece(call.scratch, 0)});
  if (call.d_input.empty()) return;
  to_input_->run(
      libraries_.cublas(), context_.stream,
      {context_.weights(call.weights), call.d_output.data(), nullptr, call.d_input.data(), piece(call.scratch, 0)});
}

std::unique_ptr<LinearPlan> make_plan(const Context& context, const DenseShape& shape) {
  return std::make_unique<CublasDense>(context, shape, shape.bias);
}

}  // namespace eave::cuda
