// The handles of cuDNN and cuBLASLt for one stream, the plans that layers of the same shape share, and the versions of
// NVIDIA's libraries.
#pragma once

#include <cublasLt.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "device/cuda/plans/autotune.h"
#include "device/cuda/plans/cublas_product.h"
#include "device/cuda/plans/cudnn_plan.h"
#include "device/cuda/plans/plans.h"

namespace eave::cuda {

class LibraryHandles final : public Libraries {
 public:
  // `tuning` is the time that all operations planned by this object share. Tests pass another budget than the default.
  explicit LibraryHandles(cudaStream_t stream, TuningBudget tuning = TuningBudget());
  LibraryHandles(const LibraryHandles&) = delete;
  LibraryHandles& operator=(const LibraryHandles&) = delete;
  ~LibraryHandles() override;

  // The handles of the context, which make_libraries has made.
  static LibraryHandles& of(const Context& context) { return static_cast<LibraryHandles&>(*context.libraries); }

  cudnnHandle_t cudnn() const { return cudnn_; }
  cublasLtHandle_t cublas() const { return cublas_; }

  // The plan of an operation; it is made on the first call. If no plan with relu lets NaN through, the result is a plan
  // without relu, and the caller applies relu itself.
  std::shared_ptr<const CudnnPlan> plan(const Context& context, const ConvolutionOperation& operation);
  std::shared_ptr<const ProductPlan> plan(const Context& context, const Product& product);

 private:
  template <class What>
  using Key = std::tuple<What, Precision, bool, bool>;  // deterministic, autotuned
  using IsSpent = std::function<bool()>;

  // Plans that keep to the context's rules and, with relu, let NaN through, in the order of the heuristics. There are
  // several for autotuning, otherwise at most one. `is_spent` may end the search after the first plan.
  std::vector<CudnnPlan> find(const Context& context, const ConvolutionOperation& operation, const IsSpent& is_spent);
  std::vector<ProductPlan> find(const Context& context, const Product& product, const IsSpent& is_spent);
  // The plan that was kept as `choice`, if it still exists and still fits.
  std::optional<CudnnPlan> find_again(const Context& context, const ConvolutionOperation& operation,
                                      const std::string& choice);
  std::optional<ProductPlan> find_again(const Context& context, const Product& product, const std::string& choice);

  // Each returns nullptr if there is no plan. recall finds the kept plan, tune times candidates and takes the fastest,
  // and choose does what the context asks for.
  template <class Plan, class What>
  std::shared_ptr<const Plan> recall(const Context& context, const What& what);
  template <class Plan, class What>
  std::shared_ptr<const Plan> tune(const Context& context, const What& what, TuningCounts& counts);
  template <class Plan, class What>
  std::shared_ptr<const Plan> choose(const Context& context, const What& what);
  auto handle_for(const ConvolutionOperation&) const { return cudnn_; }
  auto handle_for(const Product&) const { return cublas_; }

  TuningBudget tuning_;

  cudnnHandle_t cudnn_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  std::map<Key<ConvolutionOperation>, std::shared_ptr<const CudnnPlan>> convolutions_;
  std::map<Key<Product>, std::shared_ptr<const ProductPlan>> products_;
};

// Describes what the choice of a plan depends on besides the operation: the kind of device and the versions of
// libraries. It is the argument of PlanChoices::open.
std::string describe_tuning_environment(int device_index);

// Versions of NVIDIA's libraries. A program runs with the library version that it was built with, or with a later minor
// version of the same major version.
struct LibraryVersion {
  int major_number = 0, minor_number = 0, patch = 0;
};

// Unpacks the number in which cuDNN and NCCL give their version: 91900 is 9.19.0. Before cuDNN 9 and NCCL 2.9 the major
// version counted thousands.
LibraryVersion unpack_version(long long packed);

// Throws Error(kResource) if `found` does not fit `built`. The message names both versions, and ends with "; " and
// `advice`.
void require_version(const char* library, long long found, long long built, const char* advice);

// Throws Error(kResource) if the loaded cuDNN does not fit this eave or its CUDA version.
void require_cudnn_version();

}  // namespace eave::cuda
