// The CPU's dense layers and convolutions as plans, and the factories that cpu_compute.cpp calls.
#pragma once

#include <dnnl.hpp>
#include <memory>

#include "device/cpu/dnnl_operation.h"
#include "eave/compute.h"
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave {

// oneDNN's handles. Each CPU Compute owns one set, which outlives its plans.
struct DnnlContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

// If `kernels` is nullptr, the plans use oneDNN's operations instead.
std::unique_ptr<LinearPlan> make_cpu_dense(const cpu::WideKernels* kernels, const DenseShape& shape);
std::unique_ptr<LinearPlan> make_cpu_convolution(DnnlContext& context, const cpu::WideKernels* kernels,
                                                 const ConvolutionShape& shape);
// A Compute that uses `kernels`. make_cpu_compute chooses the fastest kernels that fit the CPU.
std::unique_ptr<Compute> make_cpu_compute_with(int threads, const cpu::WideKernels* kernels);

// Throws std::bad_alloc if oneDNN is out of memory, and Error(kInternal) with oneDNN's status for any other failure.
// `what` names the call, for the message.
void check_dnnl(dnnl_status_t status, const char* what);

// A convolution by oneDNN, with optional bias and relu, but without a pool. Relu runs as a separate pass, because
// oneDNN's relu turns NaN into 0, and a diverged network would train on unnoticed. Each pass packs the weights once,
// into the layout that oneDNN prefers. Images are never repacked.
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
