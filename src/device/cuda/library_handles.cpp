#include "device/cuda/library_handles.h"

#include <dlfcn.h>

#include <string>

#include "device/cuda/autotune.h"
#include "device/cuda/slice_pieces.h"

namespace eave::cuda {
namespace {

// cuDNN has kernels compiled at run time by NVRTC, which looks for its own second library by name, without a path: it
// is found where this module's libraries are, once it has been opened from here. Where it is not, the loader's own
// places remain, and kernels that need no compiler.
void open_runtime_compiler() {
  int version = 0;
  EAVE_CUDA(cudaRuntimeGetVersion(&version));
  const std::string name =
      "libnvrtc-builtins.so." + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  static_cast<void>(dlopen(name.c_str(), RTLD_LAZY | RTLD_GLOBAL));
}

constexpr std::size_t kCandidates = 8;

std::size_t wanted(const Context& context) { return context.autotune ? kCandidates : 1; }

template <class Plan>
std::int64_t most_workspace(const std::vector<Plan>& plans) {
  std::int64_t most = 0;
  for (const Plan& plan : plans) most = std::max(most, plan.workspace_bytes());
  return most;
}

std::size_t find_fastest_plan(const Context& context, cudnnHandle_t handle, const std::vector<CudnnPlan>& plans,
                              const ConvolutionOperation& operation) {
  const std::int64_t value = operation.half ? 2 : 4;
  PieceLayout layout;
  const std::int64_t input = layout.add(operation.input_values() * value);
  const std::int64_t filter = layout.add(operation.filter_values() * value);
  const std::int64_t output = layout.add(operation.output_values() * value);
  const std::int64_t bias = layout.add(operation.output[2] * value);
  const std::int64_t workspace = layout.add(most_workspace(plans));
  const TemporaryMemory memory(layout.floats() * 4, context.stream);
  std::vector<NamedAddress> tensors = {
      {kInput, memory.at(input)}, {kFilter, memory.at(filter)}, {kOutput, memory.at(output)}};
  if (operation.bias) tensors.push_back({kBias, memory.at(bias)});
  return find_fastest(context.stream, plans.size(),
                      [&](std::size_t i) { plans[i].run(handle, tensors, memory.at(workspace)); });
}

std::size_t find_fastest_plan(const Context& context, cublasLtHandle_t handle, const std::vector<ProductPlan>& plans,
                              const Product& product) {
  PieceLayout layout;
  const std::int64_t a = layout.add(product.columns_a() * product.stride_a * 4);
  const std::int64_t b = layout.add(product.columns_b() * product.stride_b * 4);
  const std::int64_t bias = layout.add(product.m * 4);
  const std::int64_t d = layout.add(product.n * product.stride_d * 4);
  const std::int64_t workspace = layout.add(most_workspace(plans));
  const TemporaryMemory memory(layout.floats() * 4, context.stream);
  const ProductCall call = {memory.at(a), memory.at(b), memory.at(bias), memory.at(d), memory.at(workspace)};
  return find_fastest(context.stream, plans.size(), [&](std::size_t i) { plans[i].run(handle, context.stream, call); });
}

}  // namespace

LibraryHandles::LibraryHandles(cudaStream_t stream) {
  open_runtime_compiler();
  check_cudnn(cudnnCreate(&cudnn_), "cudnnCreate");
  try {
    check_cudnn(cudnnSetStream(cudnn_, stream), "cudnnSetStream");
    check_cublas(cublasLtCreate(&cublas_), "cublasLtCreate");
  } catch (...) {
    static_cast<void>(cudnnDestroy(cudnn_));
    throw;
  }
}

LibraryHandles::~LibraryHandles() {
  // Plans first: they were made with the handles. A destructor has nobody to tell of a failure.
  convolutions_.clear();
  products_.clear();
  static_cast<void>(cublasLtDestroy(cublas_));
  static_cast<void>(cudnnDestroy(cudnn_));
}

std::shared_ptr<const CudnnPlan> LibraryHandles::plan(const Context& context, const ConvolutionOperation& operation) {
  auto& known = convolutions_[{operation, context.precision, context.deterministic, context.autotune}];
  if (known) return known;
  std::vector<CudnnPlan> plans =
      find_plans(PlanTarget(cudnn_), operation, rules_of(context.precision, context.deterministic), wanted(context));
  const std::size_t best = plans.size() > 1 ? find_fastest_plan(context, cudnn_, plans, operation) : 0;
  return known = std::make_shared<const CudnnPlan>(std::move(plans[best]));
}

std::shared_ptr<const ProductPlan> LibraryHandles::plan(const Context& context, const Product& product) {
  auto& known = products_[{product, context.precision, context.deterministic, context.autotune}];
  if (known) return known;
  std::vector<ProductPlan> plans = ProductPlan::find(cublas_, product, context.precision, wanted(context));
  const std::size_t best = plans.size() > 1 ? find_fastest_plan(context, cublas_, plans, product) : 0;
  return known = std::make_shared<const ProductPlan>(plans[best]);
}

std::unique_ptr<Libraries> make_libraries(cudaStream_t stream) { return std::make_unique<LibraryHandles>(stream); }

const void* Context::weights(ConstSlice of) const {
  if (precision != Precision::kBf16) return of.data();
  constexpr std::ptrdiff_t kHalfBytes = 2;
  return static_cast<const char*>(half_parameters) + (of.data() - parameters) * kHalfBytes;
}

}  // namespace eave::cuda
