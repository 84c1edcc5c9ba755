// Matrix products by cuBLASLt: which product a dense layer's passes are, and plans to run them.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <source_location>
#include <string>
#include <vector>

#include "device/cuda/plans.h"

namespace eave::cuda {

// Throws Error(kResource) that names the call, its place and cuBLAS's text. `what`: "cublasLtCreate".
void check_cublas(cublasStatus_t status, const char* what,
                  const std::source_location& place = std::source_location::current());

// d = a · b, then bias and relu, of matrices that are column-major, as cuBLAS has them: d is m × n, a (transposed or
// not) m × k, b k × n. A row-major matrix of eave is its transpose here: [samples, inputs] is inputs × samples.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t stride_a = 0, stride_b = 0, stride_d = 0;  // from one column to the next
  bool half = false;                                      // a and b are bfloat16, also the bias
  bool half_result = false;                               // d is
  bool bias = false;                                      // of m values, one for each row of d
  bool relu = false;

  std::int64_t columns_a() const { return transpose_a ? m : k; }
  std::int64_t columns_b() const { return transpose_b ? k : n; }
  friend auto operator<=>(const Product&, const Product&) = default;
};

// a: weights, b: input, d: output.
Product forward_product(const DenseShape& shape, bool bias, bool half);
// a: gradient of the output, b: input, d: gradient of the weights, float32.
Product weights_product(const DenseShape& shape, bool half);
// a: weights, b: gradient of the output, d: gradient of the input.
Product input_product(const DenseShape& shape, bool half);
// For messages: "128 × 784 by 784 × 64, bias, relu, bfloat16".
std::string to_string(const Product& product);

struct ProductCall {
  const void *a, *b, *bias;
  void* d;
  void* workspace;
};

// One algorithm for a product.
class ProductPlan {
 public:
  ProductPlan(const Product& product, Precision precision);

  // The best of cuBLAS's heuristics first, at most `most`, at least one: throws Error(kResource) where there is none.
  static std::vector<ProductPlan> find(cublasLtHandle_t handle, const Product& product, Precision precision,
                                       std::size_t most);

  const Product& product() const { return product_; }
  std::string choice() const;  // the same for the same algorithm, with the same cuBLAS on the same kind of device
  std::int64_t workspace_bytes() const { return static_cast<std::int64_t>(chosen_.workspaceSize); }
  void run(cublasLtHandle_t handle, cudaStream_t stream, const ProductCall& call) const;

 private:
  cublasLtMatmulDescOpaque_t describe(const void* bias) const;

  Product product_;
  cublasComputeType_t compute_;
  cublasLtMatrixLayoutOpaque_t a_{}, b_{}, d_{};
  cublasLtMatmulHeuristicResult_t chosen_{};
};

}  // namespace eave::cuda
