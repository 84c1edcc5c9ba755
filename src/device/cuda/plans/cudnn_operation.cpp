#include "device/cuda/plans/cudnn_operation.h"

namespace eave::cuda {
namespace {

constexpr std::int64_t kFirstVirtual = 100;  // first name of the tensors that exist only within a graph
constexpr std::int64_t kAlignment = 16;      // bytes; every slice of an arena is aligned to 32 or more

// Strides of a tensor in channels-last memory. `sizes` is [samples, channels, height, width], cuDNN's order.
std::vector<std::int64_t> channels_last(const std::vector<std::int64_t>& sizes) {
  const std::int64_t channels = sizes[1], height = sizes[2], width = sizes[3];
  return {height * width * channels, 1, width * channels, channels};
}

}  // namespace

ConvolutionOperation describe_operation(ConvolutionTask task, const ConvolutionShape& shape, bool half) {
  const ImageShape in = shape.input;
  const ImageShape out = shape.convolved();
  const Window& window = shape.window;
  const bool fused = task == ConvolutionTask::kForward && shape.pool == 0;
  return {task,
          half,
          shape.samples,
          {in.height, in.width, in.channels},
          {out.height, out.width, out.channels},
          {window.height, window.width, window.stride, window.pad},
          fused && shape.bias,
          fused && shape.relu};
}

std::string to_string(const ConvolutionOperation& o) {
  const char* names[] = {"forward", "gradient of the input", "gradient of the weights"};
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  return std::string(names[static_cast<int>(o.task)]) + " of a convolution of " + text(o.samples) + " × " +
         text(o.input[0]) + " × " + text(o.input[1]) + " × " + text(o.input[2]) + " by " + text(o.window[0]) + " × " +
         text(o.window[1]) + " to " + text(o.output[2]) + " channels, stride " + text(o.window[2]) + ", pad " +
         text(o.window[3]) + (o.bias ? ", bias" : "") + (o.relu ? ", relu" : "") + (o.half ? ", bfloat16" : "");
}

OperationGraph::OperationGraph(const ConvolutionOperation& operation, cudnnHandle_t handle) : operation_(operation) {
  const ConvolutionOperation& o = operation_;
  const cudnnDataType_t type = o.half ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
  const Descriptor& input = tensor(kInput, {o.samples, o.input[2], o.input[0], o.input[1]}, type, false);
  const Descriptor& filter = tensor(kFilter, {o.output[2], o.input[2], o.window[0], o.window[1]}, type, false);
  const Descriptor& output = tensor(kOutput, {o.samples, o.output[2], o.output[0], o.output[1]}, type, false);
  if (o.task == ConvolutionTask::kForward) {
    add_forward(input, filter, output);
  } else {
    add_backward(input, filter, output);
  }
  graph_ = &keep(Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  if (handle != nullptr) graph_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph_->finalise();
}

Descriptor& OperationGraph::keep(Descriptor&& descriptor) {
  return *parts_.emplace_back(std::make_unique<Descriptor>(std::move(descriptor)));
}

Descriptor& OperationGraph::tensor(std::int64_t name, const std::vector<std::int64_t>& sizes, cudnnDataType_t type,
                                   bool is_virtual) {
  Descriptor& made = keep(Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, name)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
      .set(CUDNN_ATTR_TENSOR_STRIDES, channels_last(sizes))
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  return made.finalise();
}

Descriptor& OperationGraph::convolution() {
  const std::int64_t stride = operation_.window[2], pad = operation_.window[3];
  // The padding is the same on both sides, even if a stride leaves some of it unused: most engines accept nothing else.
  Descriptor& made = keep(Descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::vector{pad, pad})
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::vector{pad, pad})
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::vector{stride, stride})
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::vector<std::int64_t>{1, 1});
  return made.finalise();
}

// Convolution, then bias, then relu. Tensors between them are virtual and float32, whatever type the output has.
void OperationGraph::add_forward(const Descriptor& input, const Descriptor& filter, const Descriptor& output) {
  const ConvolutionOperation& o = operation_;
  const std::vector<std::int64_t> sizes = {o.samples, o.output[2], o.output[0], o.output[1]};
  std::int64_t next = kFirstVirtual;
  const auto between = [&]() -> const Descriptor& { return tensor(next++, sizes, CUDNN_DATA_FLOAT, true); };
  const Descriptor* last = o.bias || o.relu ? &between() : &output;
  Descriptor& convolve = keep(Descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
  convolve.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution())
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, input)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filter)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, *last)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);
  operations_.push_back(&convolve.finalise());
  if (o.bias) {
    // The bias has the images' type: for bfloat16 the fused engines accept no other.
    const cudnnDataType_t type = o.half ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const Descriptor& bias = tensor(kBias, {1, o.output[2], 1, 1}, type, false);
    const Descriptor& sum = o.relu ? between() : output;
    add_pointwise(CUDNN_POINTWISE_ADD, *last, &bias, sum);
    last = &sum;
  }
  if (o.relu) add_pointwise(CUDNN_POINTWISE_RELU_FWD, *last, nullptr, output);
}

void OperationGraph::add_pointwise(cudnnPointwiseMode_t mode, const Descriptor& from, const Descriptor* other,
                                   const Descriptor& into) {
  Descriptor& kind = keep(Descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
  kind.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  // By default cuDNN's relu turns NaN into 0. Since cuDNN 9 an engine may do so in spite of this attribute; passes_nan
  // (plan_trial.h) finds that out.
  if (mode == CUDNN_POINTWISE_RELU_FWD) kind.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_PROPAGATE_NAN);
  kind.finalise();
  Descriptor& made = keep(Descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, into);
  if (other != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *other);
  operations_.push_back(&made.finalise());
}

void OperationGraph::add_backward(const Descriptor& input, const Descriptor& filter, const Descriptor& output) {
  const bool to_input = operation_.task == ConvolutionTask::kToInput;
  Descriptor& made = keep(Descriptor(to_input ? CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                                              : CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR));
  if (to_input) {
    made.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, convolution())
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, input)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, filter)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, output)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0f)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0f);
  } else {
    made.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, convolution())
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, input)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, filter)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, output)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0f)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0f);
  }
  operations_.push_back(&made.finalise());
}

}  // namespace eave::cuda
