// Products of matrices outside layers, by cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <functional>
#include <map>

#include "device/cuda/cuda_handles.h"
#include "device/cuda/plans/cublas_product.h"
#include "eave/device.h"

namespace eave::cuda {

class MatrixProducts {
 public:
  // `finish_all` is called before memory of the device is allocated or freed.
  MatrixProducts(cudaStream_t stream, std::function<void()> finish_all);
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;
  ~MatrixProducts();

  // Enqueues into = a · b in float32. The first product of a shape chooses its algorithm, and may allocate.
  void run(const MatrixProduct& product, ConstSlice a, ConstSlice b, Slice into);

 private:
  const ProductPlan& plan(const Product& product);

  cudaStream_t stream_;
  std::function<void()> finish_all_;
  cublasLtHandle_t cublas_ = nullptr;
  std::map<Product, ProductPlan> plans_;
  DeviceBytes workspace_;  // shared by all, as they run one after another
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace eave::cuda
