#include "device/cuda/plans/matrix_products.h"

#include <utility>

#include "eave/check.h"

namespace eave::cuda {
namespace {

// In columns, as cuBLAS stores matrices, a row-major matrix is its transpose, and the transpose of a · b is that of b
// times that of a.
Product in_columns(const MatrixProduct& p) {
  return {.m = p.columns,
          .n = p.rows,
          .k = p.inner,
          .transpose_a = p.b_is_transposed,
          .transpose_b = p.a_is_transposed,
          .stride_a = p.b_is_transposed ? p.inner : p.columns,
          .stride_b = p.a_is_transposed ? p.rows : p.inner,
          .stride_d = p.columns};
}

}  // namespace

MatrixProducts::MatrixProducts(cudaStream_t stream, std::function<void()> finish_all)
    : stream_(stream), finish_all_(std::move(finish_all)) {
  finish_all_();
  check_cublas(cublasLtCreate(&cublas_), "cublasLtCreate");
}

MatrixProducts::~MatrixProducts() { cublasLtDestroy(cublas_); }

const ProductPlan& MatrixProducts::plan(const Product& product) {
  const auto known = plans_.find(product);
  if (known != plans_.end()) return known->second;
  const ProductPlan made = ProductPlan::find(cublas_, product, Precision::kFp32, 1).front();
  if (made.workspace_bytes() > workspace_bytes_) {
    finish_all_();
    workspace_ = device_bytes(static_cast<std::size_t>(made.workspace_bytes()));
    workspace_bytes_ = made.workspace_bytes();
  }
  return plans_.emplace(product, made).first->second;  // only now, because the memory may not be had
}

void MatrixProducts::run(const MatrixProduct& product, ConstSlice a, ConstSlice b, Slice into) {
  EAVE_CHECK(product.fits(a, b, into), "matrices of the wrong sizes");
  plan(in_columns(product)).run(cublas_, stream_, {b.data(), a.data(), nullptr, into.data(), workspace_.get()});
}

}  // namespace eave::cuda
