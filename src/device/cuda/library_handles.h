// The libraries' handles of one stream, and the plans that layers of the same shape share.
#pragma once

#include <cublasLt.h>

#include <map>
#include <memory>
#include <tuple>

#include "device/cuda/cublas_product.h"
#include "device/cuda/cudnn_plan.h"
#include "device/cuda/plans.h"

namespace eave::cuda {

class LibraryHandles final : public Libraries {
 public:
  explicit LibraryHandles(cudaStream_t stream);
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

  cudnnHandle_t cudnn_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  std::map<Key<ConvolutionOperation>, std::shared_ptr<const CudnnPlan>> convolutions_;
  std::map<Key<Product>, std::shared_ptr<const ProductPlan>> products_;
};

}  // namespace eave::cuda
