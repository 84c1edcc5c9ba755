// Convolutions by oneDNN.
#pragma once

#include "device/cpu/cpu_plans.h"
#include "device/cpu/dnnl_operation.h"

namespace eave {

// A convolution with optional bias and relu, but without a pool. Relu runs as a separate pass, because oneDNN's relu
// turns NaN into 0, and a diverged network would train on unnoticed. Each pass packs the weights once, into the layout
// that oneDNN prefers. Images are never repacked.
class CpuConvolution final : public LinearPlan {
 public:
  CpuConvolution(DnnlContext& context, const ConvolutionShape& shape);

  std::int64_t scratch_size() const override { return packed_size_ + working_size_; }
  void forward(const LinearForward& call) override;
  void backward(const LinearBackward& call) override;

  // forward() is pack() followed by convolve(). Call them separately to convolve several groups of samples with the
  // same weights. pack() returns the packed weights: they lie in `scratch`, or are `weights` itself if oneDNN needs no
  // packing.
  const float* pack(ConstSlice weights, Slice scratch);
  void convolve(const float* packed, ConstSlice bias, const float* input, float* output, Slice scratch);
  // The gradients of weights and input. `d_convolved` is the gradient of the convolution's output before relu.
  void convolve_back(const LinearBackward& call, const float* d_convolved);

 private:
  DnnlConvolution description(dnnl::memory::format_tag weights) const;
  void plan_forward();
  void plan_to_input();
  void plan_to_weights();
  void fit_scratch(const DnnlRepacking& repacking, const DnnlOperation& operation);
  void convolve_back_to_weights(const LinearBackward& call, const float* d_convolved);
  void convolve_back_to_input(const LinearBackward& call, const float* d_convolved);

  DnnlContext& context_;
  ConvolutionShape shape_;
  DnnlOperation forward_, to_input_, to_weights_;
  DnnlRepacking pack_forward_, pack_to_input_, unpack_gradient_;
  std::int64_t packed_size_ = 0, working_size_ = 0;
};

}  // namespace eave
