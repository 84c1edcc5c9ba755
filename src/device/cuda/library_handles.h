// The libraries' handles of one stream, and the plans that layers of the same shape share.
#pragma once

#include <cublasLt.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "device/cuda/autotune.h"
#include "device/cuda/cublas_product.h"
#include "device/cuda/cudnn_plan.h"
#include "device/cuda/plans.h"

namespace eave::cuda {

class LibraryHandles final : public Libraries {
 public:
  // `tuning`: what all operations planned by these have in common; for tests, another than the usual.
  explicit LibraryHandles(cudaStream_t stream, TuningBudget tuning = TuningBudget());
  LibraryHandles(const LibraryHandles&) = delete;
  LibraryHandles& operator=(const LibraryHandles&) = delete;
  ~LibraryHandles() override;

  // Those of the context, which make_libraries made.
  static LibraryHandles& of(const Context& context) { return static_cast<LibraryHandles&>(*context.libraries); }

  cudnnHandle_t cudnn() const { return cudnn_; }
  cublasLtHandle_t cublas() const { return cublas_; }

  // For an operation with relu, if no plan lets NaN through: one without, which the caller has to do itself.
  std::shared_ptr<const CudnnPlan> plan(const Context& context, const ConvolutionOperation& operation);
  std::shared_ptr<const ProductPlan> plan(const Context& context, const Product& product);

 private:
  template <class What>
  using Key = std::tuple<What, Precision, bool, bool>;  // deterministic, autotuned
  using IsSpent = std::function<bool()>;

  // The plans of an operation that keep to the context's rules and let NaN through relu: the best of the heuristics
  // first, some for autotuning, else one at most. `is_spent` may end the search after the first.
  std::vector<CudnnPlan> find(const Context& context, const ConvolutionOperation& operation, const IsSpent& is_spent);
  std::vector<ProductPlan> find(const Context& context, const Product& product, const IsSpent& is_spent);
  // The one that was kept as `choice`, if it still does.
  std::optional<CudnnPlan> find_again(const Context& context, const ConvolutionOperation& operation,
                                      const std::string& choice);
  std::optional<ProductPlan> find_again(const Context& context, const Product& product, const std::string& choice);

  // nullptr: there is none. `recall`: the one that was kept. `tune`: the fastest. `choose`: by what the context says.
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

// What a choice of plans depends on beside the operation, for PlanChoices::open: the kind of device, and versions.
std::string describe_tuning_environment(int device_index);

}  // namespace eave::cuda
