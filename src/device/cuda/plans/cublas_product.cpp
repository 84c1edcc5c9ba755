#include "device/cuda/plans/cublas_product.h"

#include "eave/check.h"

namespace eave::cuda {
namespace {

// In bytes. Slices of arenas are aligned to 64 bytes, those of bfloat16 parameters to 32.
constexpr std::uint32_t kMatrixAlignment = 16;
constexpr std::uint64_t kMostWorkspaceBytes = std::uint64_t{32} << 20;  // cuBLAS's advice for Hopper

cudaDataType_t type_of(bool half) { return half ? CUDA_R_16BF : CUDA_R_32F; }

cublasComputeType_t compute_type(Precision precision) {
  return precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

std::uint32_t epilogue_of(const Product& product) {
  if (product.bias) return product.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return product.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

template <class Value>
void set(cublasLtMatmulDescOpaque_t& description, cublasLtMatmulDescAttributes_t name, const Value& value) {
  check_cublas(cublasLtMatmulDescSetAttribute(&description, name, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t name, const Value& value) {
  check_cublas(cublasLtMatmulPreferenceSetAttribute(&preference, name, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute");
}

cublasLtMatmulPreferenceOpaque_t preference() {
  cublasLtMatmulPreferenceOpaque_t made{};
  check_cublas(cublasLtMatmulPreferenceInit(&made), "cublasLtMatmulPreferenceInit");
  set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspaceBytes);
  for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(made, matrix, kMatrixAlignment);
  // Partial sums are added in float32, and always in the same order.
  set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  return made;
}

cublasLtMatrixLayoutOpaque_t layout(bool half, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  cublasLtMatrixLayoutOpaque_t made{};
  check_cublas(cublasLtMatrixLayoutInit(&made, type_of(half), static_cast<std::uint64_t>(rows),
                                        static_cast<std::uint64_t>(columns), stride),
               "cublasLtMatrixLayoutInit");
  return made;
}

}  // namespace

std::string to_string(const Product& p) {
  return std::to_string(p.m) + " × " + std::to_string(p.k) + " by " + std::to_string(p.k) + " × " +
         std::to_string(p.n) + (p.bias ? ", bias" : "") + (p.relu ? ", relu" : "") + (p.adds ? ", added" : "") +
         (p.half ? ", bfloat16" : "");
}

void check_cublas(cublasStatus_t status, const char* what, const std::source_location& place) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::string advice;
  if (status == CUBLAS_STATUS_NOT_INITIALIZED || status == CUBLAS_STATUS_ALLOC_FAILED)
    advice = "; is memory of the GPU free? nvidia-smi tells";
  if (status == CUBLAS_STATUS_ARCH_MISMATCH || status == CUBLAS_STATUS_NOT_SUPPORTED)
    advice = "; choose another --precision: bf16 wants a GPU of compute capability 8.0 or more";
  throw Error(ExitCode::kResource, "cuBLAS " + std::to_string(cublasLtGetVersion()) + " failed in " + what + " at " +
                                       place.file_name() + ":" + std::to_string(place.line()) + ": " +
                                       cublasLtGetStatusName(status) + " (" + cublasLtGetStatusString(status) + ")" +
                                       advice);
}

// Transposed weights are stored as [outputs, inputs], which is inputs × outputs in columns.
Product forward_product(const DenseShape& s, bool bias, bool half) {
  const std::int64_t stride = s.transposed ? s.inputs : s.outputs;
  return {s.outputs, s.samples, s.inputs, s.transposed, false, stride, s.inputs, s.outputs, half, half, bias, s.relu};
}

Product weights_product(const DenseShape& s, bool half) {
  if (s.transposed) {
    return {s.inputs, s.outputs, s.samples, false, true, s.inputs, s.outputs, s.inputs, half, false, false, false};
  }
  return {s.outputs, s.inputs, s.samples, false, true, s.outputs, s.inputs, s.outputs, half, false, false, false};
}

Product input_product(const DenseShape& s, bool half) {
  const std::int64_t stride = s.transposed ? s.inputs : s.outputs;
  return {s.inputs, s.samples, s.outputs, !s.transposed, false, stride, s.outputs, s.inputs, half, half, false, false};
}

ProductPlan::ProductPlan(const Product& product, Precision precision)
    : product_(product),
      compute_(compute_type(precision)),
      a_(layout(product.half, product.transpose_a ? product.k : product.m, product.columns_a(), product.stride_a)),
      b_(layout(product.half, product.transpose_b ? product.n : product.k, product.columns_b(), product.stride_b)),
      d_(layout(product.half_result, product.m, product.n, product.stride_d)) {}

cublasLtMatmulDescOpaque_t ProductPlan::describe(const void* bias) const {
  cublasLtMatmulDescOpaque_t made{};
  check_cublas(cublasLtMatmulDescInit(&made, compute_, CUDA_R_32F), "cublasLtMatmulDescInit");
  const auto operation = [](bool transposed) { return std::int32_t{transposed ? CUBLAS_OP_T : CUBLAS_OP_N}; };
  set(made, CUBLASLT_MATMUL_DESC_TRANSA, operation(product_.transpose_a));
  set(made, CUBLASLT_MATMUL_DESC_TRANSB, operation(product_.transpose_b));
  set(made, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(product_));
  if (product_.bias) {
    set(made, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{type_of(product_.half)});
    set(made, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  return made;
}

std::string ProductPlan::choice() const {
  std::string text = "algorithm";
  for (const std::uint64_t part : chosen_.algo.data) text += " " + std::to_string(part);
  return text + ", " + std::to_string(chosen_.workspaceSize) + " bytes";
}

std::vector<ProductPlan> ProductPlan::find(cublasLtHandle_t handle, const Product& product, Precision precision,
                                           std::size_t most) {
  ProductPlan plan(product, precision);
  // The heuristic does not read this address, but looks at its alignment.
  cublasLtMatmulDescOpaque_t description =
      plan.describe(reinterpret_cast<const void*>(std::uintptr_t{kMatrixAlignment}));
  cublasLtMatmulPreferenceOpaque_t preferred = preference();
  std::vector<cublasLtMatmulHeuristicResult_t> results(most);
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, &description, &plan.a_, &plan.b_, &plan.d_, &plan.d_, &preferred,
                                     static_cast<int>(most), results.data(), &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_ARCH_MISMATCH)
    check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<ProductPlan> plans;
  for (int i = 0; i < found; ++i) {
    plan.chosen_ = results[static_cast<std::size_t>(i)];
    if (plan.chosen_.state == CUBLAS_STATUS_SUCCESS) plans.push_back(plan);
  }
  if (!plans.empty()) return plans;
  // GPUs before Ampere have no TF32, so plan in float32.
  if (precision == Precision::kTf32) return find(handle, product, Precision::kFp32, most);
  throw Error(ExitCode::kResource, "cuBLAS " + std::to_string(cublasLtGetVersion()) + " has no algorithm for " +
                                       to_string(product) + " on this GPU; choose another --precision");
}

void ProductPlan::run(cublasLtHandle_t handle, cudaStream_t stream, const ProductCall& call) const {
  for (const void* address : {call.a, call.b, call.bias, const_cast<const void*>(call.d)})
    EAVE_CHECK(reinterpret_cast<std::uintptr_t>(address) % kMatrixAlignment == 0,
               "a matrix is not aligned to 16 bytes");
  cublasLtMatmulDescOpaque_t description = describe(call.bias);
  cublasLtMatrixLayoutOpaque_t a = a_, b = b_, d = d_;
  const float one = 1, of_d = product_.adds ? 1 : 0;
  const cublasStatus_t status =
      cublasLtMatmul(handle, &description, &one, call.a, &a, call.b, &b, &of_d, call.d, &d, call.d, &d, &chosen_.algo,
                     call.workspace, chosen_.workspaceSize, stream);
  if (status != CUBLAS_STATUS_SUCCESS) check_cublas(status, ("cublasLtMatmul of " + to_string(product_)).c_str());
}

}  // namespace eave::cuda
