#include "device/cuda/plans/cudnn_convolution.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "device/cuda/plans/cublas_dense.h"
#include "device/cuda/workspace_layout.h"
#include "device/kernel_arguments.h"
#include "eave/check.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"

namespace eave::cuda {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half>;

std::int64_t sums_bytes(const ConvolutionShape& shape) {
  const ImageShape out = shape.output();
  const std::int64_t rows = shape.samples * out.height * out.width;
  return shape.bias ? bias_scratch(rows, out.channels) * std::int64_t{sizeof(double)} : 0;
}

}  // namespace

bool is_product(const ConvolutionShape& shape) {
  const Window& window = shape.window;
  return window.height == 1 && window.width == 1 && window.stride == 1 && window.pad == 0 && shape.pool == 0;
}

PoolGeometry pool_geometry(const ConvolutionShape& shape) {
  const ImageShape in = shape.convolved();
  const ImageShape out = shape.output();
  return {shape.samples, in.height,  in.width,   in.channels, out.height,
          out.width,     shape.pool, shape.pool, shape.pool,  0};
}

template <class T>
CudnnConvolution<T>::CudnnConvolution(const Context& context, const ConvolutionShape& shape)
    : context_(context),
      libraries_(LibraryHandles::of(context)),
      shape_(shape),
      filter_{std::int64_t{1} * shape.window.height * shape.window.width, shape.input.channels, shape.outputs} {
  forward_ = libraries_.plan(context, describe_operation(ConvolutionTask::kForward, shape, kIsHalf<T>));
  if (shape.training) {
    to_weights_ = libraries_.plan(context, describe_operation(ConvolutionTask::kToWeights, shape, kIsHalf<T>));
    if (shape.input_gradient)
      to_input_ = libraries_.plan(context, describe_operation(ConvolutionTask::kToInput, shape, kIsHalf<T>));
    place_saved();
  }
  place_scratch();
}

template <class T>
void CudnnConvolution<T>::place_saved() {
  WorkspaceLayout layout;
  saved_filter_ = layout.add(filter_.values() * std::int64_t{sizeof(T)});
  if (shape_.pool > 0) saved_winners_ = layout.add(shape_.samples * shape_.output().size());
  saved_size_ = layout.floats();
}

// Lays out forward's scratch and then backward's, which reuses the same memory. Forward has a place for the packed
// filter because in evaluation nothing is saved.
template <class T>
void CudnnConvolution<T>::place_scratch() {
  const std::int64_t convolved = shape_.samples * shape_.convolved().size() * std::int64_t{sizeof(T)};
  WorkspaceLayout forward;
  packed_ = forward.add(filter_.values() * std::int64_t{sizeof(T)});
  if (shape_.pool > 0) convolved_ = forward.add(convolved);
  forward_workspace_ = forward.add(forward_->workspace_bytes());
  scratch_size_ = forward.floats();
  if (!shape_.training) return;
  WorkspaceLayout backward;
  d_packed_ = backward.add(filter_.values() * std::int64_t{sizeof(T)});
  if (shape_.pool > 0) d_convolved_ = backward.add(convolved);
  backward_workspace_ = backward.add(
      std::max({to_weights_->workspace_bytes(), to_input_ ? to_input_->workspace_bytes() : 0, sums_bytes(shape_)}));
  scratch_size_ = std::max(scratch_size_, backward.floats());
}

template <class T>
void CudnnConvolution<T>::forward(const LinearForward& call) {
  T* const packed = call.saved.empty() ? piece<T>(call.scratch, packed_) : piece<T>(call.saved, saved_filter_);
  pack_filter(context_.stream, filter_, static_cast<const T*>(context_.weights(call.weights)), packed);
  T* const convolved = shape_.pool > 0 ? piece<T>(call.scratch, convolved_) : array<T>(call.output);
  std::array<NamedAddress, 4> tensors = {
      {{kInput, call.input.data()}, {kFilter, packed}, {kOutput, convolved}, {kBias, nullptr}}};
  const bool bias = shape_.bias && shape_.pool == 0;
  if (bias) tensors.back().address = context_.weights(call.bias);
  forward_->run(libraries_.cudnn(), std::span(tensors).first(bias ? 4 : 3), piece(call.scratch, forward_workspace_));
  if (shape_.pool == 0) {
    if (shape_.relu && !forward_->operation().relu)
      activation_forward(context_.stream, Elementwise::kRelu, 0, convolved, convolved,
                         shape_.samples * shape_.output().size());
    return;
  }
  bias_relu_max_pool(context_.stream, pool_geometry(shape_), convolved, shape_.bias ? call.bias.data() : nullptr,
                     shape_.relu, array<T>(call.output), piece<std::uint8_t>(call.saved, saved_winners_));
}

// Goes back through the pool and relu, and writes the bias gradient. Returns the gradient of the convolution's output.
template <class T>
T* CudnnConvolution<T>::run_back_through_pool(const LinearBackward& call) {
  const ImageShape out = shape_.output();
  const T* output = shape_.relu ? array<T>(call.output) : nullptr;
  float* d_bias = array<float>(call.d_bias);
  T* const d_output = array<T>(call.d_output);
  // With a pool, only the bias gradient needs relu's mask: winners that are kDead stop the other gradients.
  if (d_bias != nullptr || (output != nullptr && shape_.pool == 0)) {
    bias_backward(context_.stream, output, d_output, d_bias, shape_.samples * out.height * out.width, out.channels,
                  piece<double>(call.scratch, backward_workspace_));
  }
  if (shape_.pool == 0) return d_output;
  T* const d_convolved = piece<T>(call.scratch, d_convolved_);
  max_pool_backward(context_.stream, pool_geometry(shape_), piece<const std::uint8_t>(call.saved, saved_winners_),
                    d_output, d_convolved);
  return d_convolved;
}

template <class T>
void CudnnConvolution<T>::run_to_weights(const LinearBackward& call, const T* d_convolved) {
  T* const d_packed = piece<T>(call.scratch, d_packed_);
  const std::array<NamedAddress, 3> tensors = {
      {{kInput, call.input.data()}, {kFilter, d_packed}, {kOutput, d_convolved}}};
  to_weights_->run(libraries_.cudnn(), tensors, piece(call.scratch, backward_workspace_));
  unpack_filter(context_.stream, filter_, static_cast<const T*>(d_packed), call.d_weights.data());
}

template <class T>
void CudnnConvolution<T>::backward(const LinearBackward& call) {
  EAVE_CHECK(shape_.training && !call.saved.empty(), "backward without a forward in training");
  const T* const d_convolved = run_back_through_pool(call);
  run_to_weights(call, d_convolved);
  if (call.d_input.empty()) return;
  const std::array<NamedAddress, 3> tensors = {
      {{kInput, call.d_input.data()}, {kFilter, piece<const T>(call.saved, saved_filter_)}, {kOutput, d_convolved}}};
  to_input_->run(libraries_.cudnn(), tensors, piece(call.scratch, backward_workspace_));
}

template class CudnnConvolution<float>;
template class CudnnConvolution<Half>;

std::unique_ptr<LinearPlan> make_plan(const Context& context, const ConvolutionShape& shape) {
  if (is_product(shape)) {
    const std::int64_t pixels = shape.samples * shape.input.height * shape.input.width;
    return std::make_unique<CublasDense>(
        context,
        DenseShape{pixels, shape.input.channels, shape.outputs, shape.relu, shape.training, shape.input_gradient},
        shape.bias);
  }
  if (context.precision == Precision::kBf16) return std::make_unique<CudnnConvolution<Half>>(context, shape);
  return std::make_unique<CudnnConvolution<float>>(context, shape);
}

}  // namespace eave::cuda
