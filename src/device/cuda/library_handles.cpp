#include "device/cuda/library_handles.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "device/cuda/cuda_handles.h"
#include "device/cuda/plans/plan_trial.h"
#include "eave/check.h"

namespace eave::cuda {
namespace {

// cuDNN compiles some kernels at run time by NVRTC, which opens its second library by name, without a path. Opening
// that library here first lets NVRTC find it, because this module knows the folder of its libraries. If this fails, the
// loader's own folders remain, and so do the kernels that need no compiler.
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

std::string rules_text(const Context& context) {
  const char* const names[] = {"fp32", "tf32", "bf16"};
  return std::string("; ") + names[static_cast<int>(context.precision)] +
         (context.deterministic ? ", deterministic" : "");
}

std::string describe(const Context& context, const ConvolutionOperation& operation) {
  return to_string(operation) + rules_text(context);
}

std::string describe(const Context& context, const Product& p) {
  return "product of " + to_string(p) + ", strides " + std::to_string(p.stride_a) + " " + std::to_string(p.stride_b) +
         " " + std::to_string(p.stride_d) + (p.transpose_a ? ", a transposed" : "") +
         (p.transpose_b ? ", b transposed" : "") + (p.half_result ? ", bfloat16 result" : "") + rules_text(context);
}

std::string text_of(const LibraryVersion& version) {
  return std::to_string(version.major_number) + "." + std::to_string(version.minor_number) + "." +
         std::to_string(version.patch);
}

}  // namespace

LibraryHandles::LibraryHandles(cudaStream_t stream, TuningBudget tuning) : tuning_(std::move(tuning)) {
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
  // Free the plans first, because they were made with the handles. A destructor cannot report a failure.
  convolutions_.clear();
  products_.clear();
  static_cast<void>(cublasLtDestroy(cublas_));
  static_cast<void>(cudnnDestroy(cudnn_));
}

std::vector<CudnnPlan> LibraryHandles::find(const Context& context, const ConvolutionOperation& operation,
                                            const IsSpent& is_spent) {
  AcceptsPlan accepts;
  if (operation.relu) accepts = [&](const CudnnPlan& each) { return passes_nan(context, cudnn_, each); };
  return find_plans(PlanTarget(cudnn_), operation, rules_of(context.precision, context.deterministic), wanted(context),
                    accepts, is_spent);
}

std::vector<ProductPlan> LibraryHandles::find(const Context& context, const Product& product, const IsSpent& is_spent) {
  std::vector<ProductPlan> plans =
      ProductPlan::find(cublas_, product, context.precision, product.relu ? kCandidates : wanted(context));
  if (!product.relu) return plans;
  std::vector<ProductPlan> accepted;
  for (const ProductPlan& each : plans) {
    if (accepted.size() >= wanted(context) || (!accepted.empty() && is_spent && is_spent())) break;
    if (passes_nan(context, cublas_, each)) accepted.push_back(each);
  }
  return accepted;
}

std::optional<CudnnPlan> LibraryHandles::find_again(const Context& context, const ConvolutionOperation& operation,
                                                    const std::string& choice) {
  AcceptsPlan accepts;
  if (operation.relu) accepts = [&](const CudnnPlan& each) { return passes_nan(context, cudnn_, each); };
  return find_plan_again(PlanTarget(cudnn_), operation, rules_of(context.precision, context.deterministic), choice,
                         accepts);
}

std::optional<ProductPlan> LibraryHandles::find_again(const Context& context, const Product& product,
                                                      const std::string& choice) {
  for (const ProductPlan& each : ProductPlan::find(cublas_, product, context.precision, kCandidates))
    if (each.choice() == choice && (!product.relu || passes_nan(context, cublas_, each))) return each;
  return std::nullopt;
}

template <class Plan, class What>
std::shared_ptr<const Plan> LibraryHandles::recall(const Context& context, const What& what) {
  const std::string choice = context.choices == nullptr ? "" : context.choices->find(describe(context, what));
  if (choice.empty()) return nullptr;
  std::optional<Plan> again = find_again(context, what, choice);
  return again ? std::make_shared<const Plan>(std::move(*again)) : nullptr;
}

template <class Plan, class What>
std::shared_ptr<const Plan> LibraryHandles::tune(const Context& context, const What& what, TuningCounts& counts) {
  const double before = tuning_.spent();
  std::vector<Plan> plans;
  Fastest fastest;
  {
    const TuningBudget::Share share(tuning_);
    const IsSpent is_spent = [&] { return share.is_spent(); };
    plans = find(context, what, is_spent);
    if (plans.empty()) return nullptr;
    const bool found_all = plans.size() == kCandidates || !is_spent();
    fastest = find_fastest_plan(context, handle_for(what), plans, is_spent);
    fastest.is_whole = fastest.is_whole && found_all;
  }
  counts.seconds += tuning_.spent() - before;
  counts.timed += fastest.timed > 1 ? 1 : 0;
  counts.cut_short += fastest.is_whole ? 0 : 1;
  Plan& best = plans[fastest.candidate];
  // Without a comparison nothing is kept: the next run may have time for it.
  if (context.choices != nullptr && (fastest.timed > 1 || fastest.is_whole))
    context.choices->keep(describe(context, what), best.choice());
  return std::make_shared<const Plan>(std::move(best));
}

template <class Plan, class What>
std::shared_ptr<const Plan> LibraryHandles::choose(const Context& context, const What& what) {
  if (context.finish_all) context.finish_all();
  if (!context.autotune) {
    std::vector<Plan> plans = find(context, what, {});
    return plans.empty() ? nullptr : std::make_shared<const Plan>(std::move(plans.front()));
  }
  TuningCounts uncounted;
  TuningCounts& counts = context.counts != nullptr ? *context.counts : uncounted;
  if (std::shared_ptr<const Plan> known = recall<Plan>(context, what)) {
    ++counts.from_choices;
    return known;
  }
  return tune<Plan>(context, what, counts);
}

std::shared_ptr<const CudnnPlan> LibraryHandles::plan(const Context& context, const ConvolutionOperation& operation) {
  auto& known = convolutions_[{operation, context.precision, context.deterministic, context.autotune}];
  if (!known) known = choose<CudnnPlan>(context, operation);
  if (!known) known = plan(context, without_relu(operation));
  return known;
}

std::shared_ptr<const ProductPlan> LibraryHandles::plan(const Context& context, const Product& product) {
  auto& known = products_[{product, context.precision, context.deterministic, context.autotune}];
  if (!known) known = choose<ProductPlan>(context, product);
  if (!known) known = plan(context, without_relu(product));
  return known;
}

std::unique_ptr<Libraries> make_libraries(cudaStream_t stream) { return std::make_unique<LibraryHandles>(stream); }

// Several drivers support the same CUDA version, so the text also includes the version of the driver itself.
std::string describe_tuning_environment(int device_index) {
  constexpr int kSearch = 1;  // version of this search; change it if the search considers other plans
  cudaDeviceProp device{};
  EAVE_CUDA(cudaGetDeviceProperties(&device, device_index));
  int driver = 0, runtime = 0;
  EAVE_CUDA(cudaDriverGetVersion(&driver));
  EAVE_CUDA(cudaRuntimeGetVersion(&runtime));
  std::string module;
  std::ifstream file("/proc/driver/nvidia/version");
  std::getline(file, module);
  std::replace_if(
      module.begin(), module.end(), [](char c) { return c < ' '; }, ' ');
  return "search " + std::to_string(kSearch) + "; " + device.name + ", compute capability " +
         std::to_string(device.major) + "." + std::to_string(device.minor) + ", " +
         std::to_string(device.multiProcessorCount) + " multiprocessors, " +
         std::to_string(device.totalGlobalMem >> 20) + " MiB; driver of CUDA " + std::to_string(driver) + ", CUDA " +
         std::to_string(runtime) + ", cuDNN " + std::to_string(cudnnGetVersion()) + ", cuBLAS " +
         std::to_string(cublasLtGetVersion()) + (module.empty() ? "" : "; " + module);
}

const void* Context::weights(ConstSlice of) const {
  if (precision != Precision::kBf16) return of.data();
  constexpr std::ptrdiff_t kHalfBytes = 2;
  return static_cast<const char*>(half_parameters) + (of.data() - parameters) * kHalfBytes;
}

LibraryVersion unpack_version(long long packed) {
  const long long unit = packed < 10000 ? 1000 : 10000;
  return {static_cast<int>(packed / unit), static_cast<int>(packed % unit / 100), static_cast<int>(packed % 100)};
}

void require_version(const char* library, long long found, long long built, const char* advice) {
  const LibraryVersion here = unpack_version(found), wanted = unpack_version(built);
  if (here.major_number == wanted.major_number && here.minor_number >= wanted.minor_number) return;
  throw Error(ExitCode::kResource,
              std::string(library) + " " + text_of(here) + " is found, and this eave was built with " +
                  text_of(wanted) + ", which needs " + std::to_string(wanted.major_number) + "." +
                  std::to_string(wanted.minor_number) + " or a later " + std::to_string(wanted.major_number) +
                  ".x; install that, or look at LD_LIBRARY_PATH, where another may come first; " + advice);
}

void require_cudnn_version() {
  constexpr const char* kElse = "or build eave with the one that is found, or train with --device cpu";
  require_version("no GPU can be used: cuDNN", static_cast<long long>(cudnnGetVersion()), CUDNN_VERSION, kElse);
  const auto cuda = static_cast<int>(cudnnGetCudartVersion() / 1000);
  if (cuda == CUDART_VERSION / 1000) return;
  throw Error(ExitCode::kResource, "no GPU can be used: the cuDNN that is found is for CUDA " + std::to_string(cuda) +
                                       ", and this eave was built with CUDA " + std::to_string(CUDART_VERSION / 1000) +
                                       "; install cuDNN for that, or look at LD_LIBRARY_PATH, where another may come "
                                       "first; or train with --device cpu");
}

}  // namespace eave::cuda
