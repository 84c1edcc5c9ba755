// Matrix products by cuBLASLt: the products that a dense layer's passes consist of, and plans that run them.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <source_location>
#include <string>
#include <vector>

#include "device/cuda/plans/plans.h"

namespace eave::cuda {

// If `status` is a failure, throws Error(kResource) that names the call (`what`, such as "cublasLtCreate"), its place
// in the source and cuBLAS's text.
void check_cublas(cublasStatus_t status, const char* what,
                  const std::source_location& place = std::source_location::current());

// d = a · b, then bias and relu. Matrices are column-major, as in cuBLAS: d is m × n, a is m × k and b is k × n, where
// a and b may be stored transposed. A row-major matrix of eave is the transpose: [samples, inputs] becomes inputs ×
// samples.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t stride_a = 0, stride_b = 0, stride_d = 0;  // distance between columns, in values
  bool half = false;                                      // a, b and the bias are bfloat16
  bool half_result = false;                               // d is bfloat16
  bool bias = false;                                      // m values, one for each row of d
  bool relu = false;
  bool adds = false;  // d += a · b

  std::int64_t columns_a() const { return transpose_a ? m : k; }
  std::int64_t columns_b() const { return transpose_b ? k : n; }
  friend auto operator<=>(const Product&, const Product&) = default;
};

// Forward: a is the weights, b the input, d the output.
Product forward_product(const DenseShape& shape, bool bias, bool half);
// Gradient of the weights: a is the output's gradient, b the input, d the weights' gradient in float32. With transposed
// weights a is the input and b the output's gradient.
Product weights_product(const DenseShape& shape, bool half);
// Gradient of the input: a is the weights, b the output's gradient, d the input's gradient.
Product input_product(const DenseShape& shape, bool half);
// Text for messages: "128 × 784 by 784 × 64, bias, relu, bfloat16".
std::string to_string(const Product& product);

struct ProductCall {
  const void *a, *b, *bias;
  void* d;
  void* workspace;
};

// A product with the algorithm chosen for it.
class ProductPlan {
 public:
  ProductPlan(const Product& product, Precision precision);

  // Returns at most `most` plans, in the order of cuBLAS's heuristics, the best first. Returns at least one: throws
  // Error(kResource) if there is none. On a GPU without TF32, plans for kTf32 are plans in float32.
  static std::vector<ProductPlan> find(cublasLtHandle_t handle, const Product& product, Precision precision,
                                       std::size_t most);

  const Product& product() const { return product_; }
  std::string choice() const;  // identifies the algorithm, for the same cuBLAS on the same kind of device
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
