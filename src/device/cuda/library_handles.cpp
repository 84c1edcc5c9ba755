#include "device/cuda/library_handles.h"

#include <dlfcn.h>

#include <functional>
#include <string>

#include "device/cuda/cuda_check.h"
#include "device/cuda/plan_trial.h"

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

template <class What>
What without_relu(What what) {
  what.relu = false;
  return what;
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
  std::function<bool(const CudnnPlan&)> accepts;
  if (operation.relu) accepts = [&](const CudnnPlan& each) { return passes_nan(context, cudnn_, each); };
  std::vector<CudnnPlan> plans = find_plans(
      PlanTarget(cudnn_), operation, rules_of(context.precision, context.deterministic), wanted(context), accepts);
  if (plans.empty()) return known = plan(context, without_relu(operation));
  const std::size_t best = find_fastest_plan(context, cudnn_, plans);
  return known = std::make_shared<const CudnnPlan>(std::move(plans[best]));
}

std::shared_ptr<const ProductPlan> LibraryHandles::plan(const Context& context, const Product& product) {
  auto& known = products_[{product, context.precision, context.deterministic, context.autotune}];
  if (known) return known;
  std::vector<ProductPlan> plans =
      ProductPlan::find(cublas_, product, context.precision, product.relu ? kCandidates : wanted(context));
  if (product.relu) {
    std::vector<ProductPlan> accepted;
    for (const ProductPlan& each : plans)
      if (accepted.size() < wanted(context) && passes_nan(context, cublas_, each)) accepted.push_back(each);
    plans = std::move(accepted);
  }
  if (plans.empty()) return known = plan(context, without_relu(product));
  const std::size_t best = find_fastest_plan(context, cublas_, plans);
  return known = std::make_shared<const ProductPlan>(plans[best]);
}

std::unique_ptr<Libraries> make_libraries(cudaStream_t stream) { return std::make_unique<LibraryHandles>(stream); }

const void* Context::weights(ConstSlice of) const {
  if (precision != Precision::kBf16) return of.data();
  constexpr std::ptrdiff_t kHalfBytes = 2;
  return static_cast<const char*>(half_parameters) + (of.data() - parameters) * kHalfBytes;
}

}  // namespace eave::cuda
