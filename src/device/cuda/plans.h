// What CudaCompute has its dense layers and convolutions made by: cuBLASLt and cuDNN. Everything is enqueued on the
// context's stream and may be captured into a CUDA graph: no allocation, no synchronisation, no host callback after a
// plan is made.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "device/cuda_module.h"
#include "eave/compute.h"

namespace eave::cuda {

// Handles of the libraries, one set per stream. Made where the libraries are used.
class Libraries {
 public:
  virtual ~Libraries() = default;
};
std::unique_ptr<Libraries> make_libraries(cudaStream_t stream);

struct Context {
  cudaStream_t stream = nullptr;
  Precision precision = Precision::kTf32;
  bool deterministic = false;      // only algorithms that give the same bits each time
  bool autotune = false;           // time the candidates once, when a plan is made
  PlanChoices* choices = nullptr;  // with autotune; nullptr: nothing is kept
  TuningCounts* counts = nullptr;
  Libraries* libraries = nullptr;
  // CudaDevice::finish_all: a plan may be made in the middle of training, and to find one memory is allocated.
  std::function<void()> finish_all = {};
  // In a pass with bf16: its parameters, and where they lie as bfloat16, element by element.
  const float* parameters = nullptr;
  const void* half_parameters = nullptr;

  // Weights as the products want them: float32, or bfloat16 with kBf16.
  const void* weights(ConstSlice of) const;
};

// `context` outlives the plan.
std::unique_ptr<LinearPlan> make_dense(const Context& context, const DenseShape& shape);
std::unique_ptr<LinearPlan> make_convolution(const Context& context, const ConvolutionShape& shape);

}  // namespace eave::cuda
