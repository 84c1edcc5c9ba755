// Makes the plans of CudaCompute, one function for each shape of OperationShape: dense layers and convolutions by
// cuBLASLt and cuDNN, the rest by kernels/cuda. A plan enqueues all its work on the context's stream, and the work may
// be captured into a CUDA graph. Once made, a plan allocates nothing, does not synchronise and makes no host callbacks.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "device/cuda_module.h"
#include "device/operations.h"

namespace eave::cuda {

class PassMemory;

// The libraries' handles, one set per stream. An opaque base class: only library_handles.cpp knows the libraries.
class Libraries {
 public:
  virtual ~Libraries() = default;
};
std::unique_ptr<Libraries> make_libraries(cudaStream_t stream);

struct Context {
  cudaStream_t stream = nullptr;
  Precision precision = Precision::kTf32;
  bool deterministic = false;      // allow only algorithms that give the same bits each time
  bool autotune = false;           // when a plan is made, time the candidates once
  PlanChoices* choices = nullptr;  // used with autotune; nullptr: no choice is kept
  TuningCounts* counts = nullptr;
  std::int64_t most_logits = 0;  // in memory at a time (CudaSettings)
  Libraries* libraries = nullptr;
  // CudaDevice::finish_all. A plan may be made in the middle of training, and finding one allocates memory.
  std::function<void()> finish_all = {};
  const PassMemory* pass = nullptr;  // read by dropout, embeddings and the loss
  // Only in a pass with kBf16: the pass's parameters and their copy in bfloat16, element by element.
  const float* parameters = nullptr;
  const void* half_parameters = nullptr;

  // The weights in the type that products read: bfloat16 with kBf16, else float32. With kBf16, `of` must be a part of
  // `parameters`.
  const void* weights(ConstSlice of) const;
};

// `context` must outlive the plan.
std::unique_ptr<LinearPlan> make_plan(const Context& context, const DenseShape& shape);        // cublas_dense.cpp
std::unique_ptr<LinearPlan> make_plan(const Context& context, const ConvolutionShape& shape);  // cudnn_convolution.cpp
// batch_norm_plans.cpp
std::unique_ptr<BatchNormShape::Plan> make_plan(const Context& context, const BatchNormShape& shape);
std::unique_ptr<FixedNormShape::Plan> make_plan(const Context& context, const FixedNormShape& shape);
// kernel_plans.cpp
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const MaxPoolShape& shape);
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const AveragePoolShape& shape);
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const LocalResponseShape& shape);
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const ActivationShape& shape);
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const DropoutShape& shape);
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const ShortcutShape& shape);
std::unique_ptr<LossShape::Plan> make_plan(const Context& context, const LossShape& shape);
std::unique_ptr<LossGateShape::Plan> make_plan(const Context& context, const LossGateShape& shape);
std::unique_ptr<DenseLossShape::Plan> make_plan(const Context& context, const DenseLossShape& shape);  // dense_loss.cpp
std::unique_ptr<AttentionShape::Plan> make_plan(const Context& context,
                                                const AttentionShape& shape);  // attention_plan.cpp
// token_plans.cpp
std::unique_ptr<EmbeddingShape::Plan> make_plan(const Context& context, const EmbeddingShape& shape);
std::unique_ptr<RowNormShape::Plan> make_plan(const Context& context, const RowNormShape& shape);
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const RotaryShape& shape);
std::unique_ptr<UnaryPlan> make_plan(const Context& context, const GatedShape& shape);

}  // namespace eave::cuda
