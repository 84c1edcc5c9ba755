// The three operations of a convolution as cuDNN graphs. Images are NHWC, filters are [outputs, height, width, inputs].
#pragma once

#include <array>
#include <compare>
#include <memory>
#include <vector>

#include "device/cuda/plans/cudnn_descriptor.h"
#include "device/operations.h"

namespace eave::cuda {

enum class ConvolutionTask { kForward, kToInput, kToWeights };

// The names that an operation's tensors are bound by when it runs.
enum TensorName : std::int64_t { kInput = 1, kFilter, kOutput, kBias };

// Identifies a planned operation. Only kForward has bias and relu.
struct ConvolutionOperation {
  ConvolutionTask task = ConvolutionTask::kForward;
  bool half = false;  // all tensors are bfloat16; sums are always float32
  std::int64_t samples = 0;
  std::array<std::int64_t, 3> input{};   // height, width, channels
  std::array<std::int64_t, 3> output{};  // before pooling
  std::array<std::int64_t, 4> window{};  // height, width, stride, padding
  bool bias = false;
  bool relu = false;

  std::int64_t input_values() const { return samples * input[0] * input[1] * input[2]; }
  std::int64_t output_values() const { return samples * output[0] * output[1] * output[2]; }
  std::int64_t filter_values() const { return output[2] * window[0] * window[1] * input[2]; }
  friend auto operator<=>(const ConvolutionOperation&, const ConvolutionOperation&) = default;
};

// If a pool follows, kForward is described without bias and relu: one kernel applies them together with the pool.
ConvolutionOperation describe_operation(ConvolutionTask task, const ConvolutionShape& shape, bool half);
// Text for messages: "forward of a convolution of 128 × 28 × 28 × 3 by 5 × 5 to 64 channels, stride 1, pad 0, bias,
// relu".
std::string to_string(const ConvolutionOperation& operation);

// An operation graph, with every descriptor that it was made from. `handle` is the handle of the device to run on, or
// nullptr to plan without a device.
class OperationGraph {
 public:
  OperationGraph(const ConvolutionOperation& operation, cudnnHandle_t handle);
  const Descriptor& descriptor() const { return *graph_; }
  const ConvolutionOperation& operation() const { return operation_; }

 private:
  Descriptor& keep(Descriptor&& descriptor);
  Descriptor& tensor(std::int64_t name, const std::vector<std::int64_t>& sizes, cudnnDataType_t type, bool is_virtual);
  Descriptor& convolution();
  void add_forward(const Descriptor& input, const Descriptor& filter, const Descriptor& output);
  void add_pointwise(cudnnPointwiseMode_t mode, const Descriptor& from, const Descriptor* other,
                     const Descriptor& into);
  void add_backward(const Descriptor& input, const Descriptor& filter, const Descriptor& output);

  ConvolutionOperation operation_;
  std::vector<std::unique_ptr<Descriptor>> parts_;
  std::vector<const Descriptor*> operations_;
  Descriptor* graph_ = nullptr;
};

}  // namespace eave::cuda
