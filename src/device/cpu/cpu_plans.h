// The CPU's plans, one function for each shape of OperationShape. CpuCompute calls them.
#pragma once

#include <array>
#include <dnnl.hpp>
#include <memory>
#include <optional>

#include "device/cpu/dnnl_operation.h"
#include "device/operations.h"
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave {

// The current pass, and the losses of the last ones.
struct CpuPass {
  std::optional<PassInputs> inputs;
  std::int64_t ticket = 0;
  std::array<LossSum, kKeptLosses> losses{};  // at ticket % kKeptLosses

  LossSum& loss() { return losses[static_cast<std::size_t>(ticket % kKeptLosses)]; }
  LossSum loss(std::int64_t of_ticket) const { return losses[static_cast<std::size_t>(of_ticket % kKeptLosses)]; }
};

// The state that the plans of one Compute share. It outlives them.
struct CpuContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  int threads = 1;
  const cpu::WideKernels* kernels = nullptr;  // nullptr: plans use oneDNN's operations instead
  // The same also if there are several threads, for plans that give each thread work of its own.
  const cpu::WideKernels* kernels_of_thread = nullptr;
  CpuPass pass;
};

// cpu_dense.cpp, cpu_dense_loss.cpp and cpu_pooled_convolution.cpp
std::unique_ptr<LinearPlan> make_cpu_plan(CpuContext& context, const DenseShape& shape);
std::unique_ptr<DenseLossShape::Plan> make_cpu_plan(CpuContext& context, const DenseLossShape& shape);
std::unique_ptr<LinearPlan> make_cpu_plan(CpuContext& context, const ConvolutionShape& shape);
// cpu_batch_norm.cpp
std::unique_ptr<BatchNormShape::Plan> make_cpu_plan(CpuContext& context, const BatchNormShape& shape);
std::unique_ptr<FixedNormShape::Plan> make_cpu_plan(CpuContext& context, const FixedNormShape& shape);
// cpu_kernel_plans.cpp
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const MaxPoolShape& shape);
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const AveragePoolShape& shape);
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const LocalResponseShape& shape);
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const ActivationShape& shape);
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const DropoutShape& shape);
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const ShortcutShape& shape);
std::unique_ptr<LossShape::Plan> make_cpu_plan(CpuContext& context, const LossShape& shape);
std::unique_ptr<LossGateShape::Plan> make_cpu_plan(CpuContext& context, const LossGateShape& shape);
// cpu_token_plans.cpp and cpu_attention.cpp
std::unique_ptr<EmbeddingShape::Plan> make_cpu_plan(CpuContext& context, const EmbeddingShape& shape);
std::unique_ptr<RowNormShape::Plan> make_cpu_plan(CpuContext& context, const RowNormShape& shape);
std::unique_ptr<AttentionShape::Plan> make_cpu_plan(CpuContext& context, const AttentionShape& shape);
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const RotaryShape& shape);
std::unique_ptr<UnaryPlan> make_cpu_plan(CpuContext& context, const GatedShape& shape);

// The counter of a sample's dropout. The step is in the upper half and the sample's index in the lower: 2^32 of each.
inline std::uint64_t dropout_counter(const Batch& batch, std::int64_t sample) {
  const auto index = static_cast<std::uint64_t>(batch.indices[static_cast<std::size_t>(sample)]);
  return (static_cast<std::uint64_t>(batch.step) << 32) ^ index;
}

// Throws std::bad_alloc if oneDNN is out of memory, and Error(kInternal) with oneDNN's status for any other failure.
// `what` names the call, for the message.
void check_dnnl(dnnl_status_t status, const char* what);

// A convolution by oneDNN, with optional bias and relu, but without a pool. Relu runs as a separate pass, because
// oneDNN's relu turns NaN into 0, and a diverged network would train on unnoticed. Each pass packs the weights once,
// into the layout that oneDNN prefers. Images are never repacked.
class CpuConvolution final : public LinearPlan {
 public:
  CpuConvolution(CpuContext& context, const ConvolutionShape& shape);

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

  CpuContext& context_;
  ConvolutionShape shape_;
  DnnlOperation forward_, to_input_, to_weights_;
  DnnlRepacking pack_forward_, pack_to_input_, unpack_gradient_;
  std::int64_t packed_size_ = 0, working_size_ = 0;
};

}  // namespace eave
