// Emulates the matrix products of cuBLASLt, with the strides of the matrix descriptors. It sums in double.
#include <cublasLt.h>
#include <cuda_bf16.h>

#include <cmath>
#include <cstring>

#include "dropped_nan.h"
#include "emulator.h"

struct cublasLtContext {};

namespace {

struct Layout {
  cudaDataType_t type;
  std::int64_t rows, columns, stride;
};

struct Description {
  cublasComputeType_t compute;
  std::int32_t transpose_a, transpose_b, bias_type;
  std::uint32_t epilogue;
  const void* bias;
};

template <class State, class Opaque>
State state(const Opaque* opaque) {
  static_assert(sizeof(State) <= sizeof(Opaque));
  State value;
  std::memcpy(&value, opaque->data, sizeof value);
  return value;
}

template <class State, class Opaque>
void keep(Opaque* opaque, const State& value) {
  static_assert(sizeof(State) <= sizeof(Opaque));
  std::memcpy(opaque->data, &value, sizeof value);
}

double read(const void* from, cudaDataType_t type, std::int64_t at) {
  if (type == CUDA_R_32F) return static_cast<const float*>(from)[at];
  return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[at]);
}

void write(void* into, cudaDataType_t type, std::int64_t at, double value) {
  const auto rounded = static_cast<float>(value);
  if (type == CUDA_R_32F) {
    static_cast<float*>(into)[at] = rounded;
  } else {
    static_cast<__nv_bfloat16*>(into)[at] = __float2bfloat16(rounded);
  }
}

double element(const void* matrix, const Layout& layout, bool transposed, std::int64_t row, std::int64_t column) {
  return read(matrix, layout.type, transposed ? row * layout.stride + column : column * layout.stride + row);
}

struct Run {
  Description how;
  Layout a_layout, b_layout, d_layout;
  const void *a, *b;
  void *d, *workspace;
  std::size_t workspace_bytes;
  float of_d;  // beta: this times d is added
  bool drops_nan;

  void operator()() const {
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
    const bool turned_a = how.transpose_a == CUBLAS_OP_T, turned_b = how.transpose_b == CUBLAS_OP_T;
    const std::int64_t inner = turned_a ? a_layout.rows : a_layout.columns;
    for (std::int64_t column = 0; column < d_layout.columns; ++column) {
      for (std::int64_t row = 0; row < d_layout.rows; ++row) {
        double sum = of_d == 0 ? 0 : of_d * element(d, d_layout, false, row, column);
        for (std::int64_t k = 0; k < inner; ++k)
          sum += element(a, a_layout, turned_a, row, k) * element(b, b_layout, turned_b, k, column);
        if ((how.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
          sum += read(how.bias, static_cast<cudaDataType_t>(how.bias_type), row);
        if ((how.epilogue & CUBLASLT_EPILOGUE_RELU) != 0 && (sum < 0 || (drops_nan && std::isnan(sum)))) sum = 0;
        write(d, d_layout.type, column * d_layout.stride + row, sum);
      }
    }
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
  }
};

bool fits(const Description& how, const Layout& a, const Layout& b, const Layout& d) {
  const bool turned_a = how.transpose_a == CUBLAS_OP_T, turned_b = how.transpose_b == CUBLAS_OP_T;
  // The bias has the result's type. The operands have it too, unless the result is float32.
  if ((how.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0 && how.bias_type != d.type) return false;
  if (a.type != b.type || (d.type != a.type && d.type != CUDA_R_32F)) return false;
  if (a.stride < a.rows || b.stride < b.rows || d.stride < d.rows) return false;
  return (turned_a ? a.columns : a.rows) == d.rows && (turned_b ? b.rows : b.columns) == d.columns &&
         (turned_a ? a.rows : a.columns) == (turned_b ? b.columns : b.rows);
}

bool aligned(const void* address, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(address) % bytes == 0; }

}  // namespace

std::size_t cublasLtGetVersion() { return 130000; }
const char* cublasLtGetStatusName(cublasStatus_t) { return "a status"; }
const char* cublasLtGetStatusString(cublasStatus_t) { return "of the emulated cuBLASLt"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, std::uint64_t rows,
                                        std::uint64_t columns, std::int64_t stride) {
  keep(layout, Layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), stride});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t description, cublasComputeType_t compute, cudaDataType_t) {
  keep(description, Description{compute, CUBLAS_OP_N, CUBLAS_OP_N, -1, CUBLASLT_EPILOGUE_DEFAULT, nullptr});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t name,
                                              const void* value, std::size_t size) {
  auto how = state<Description>(description);
  const auto take = [&](auto& member) {
    if (size != sizeof member) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&member, value, size);
    keep(description, how);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(how.transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(how.transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(how.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return take(how.bias_type);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(how.bias);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void*,
                                                    std::size_t size) {
  const std::size_t expected = name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? 8 : 4;
  return size == expected ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = 0;
  if (!fits(state<Description>(description), state<Layout>(a), state<Layout>(b), state<Layout>(d)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (int i = 0; i < wanted && i < 2; ++i) {
    results[i] = {};
    results[i].algo.data[0] = static_cast<std::uint64_t>(i);
    results[i].workspaceSize = static_cast<std::size_t>(i == 0 ? 1000 : 0);
    *found = i + 1;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void*, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  const Run run = {state<Description>(description),
                   state<Layout>(a_layout),
                   state<Layout>(b_layout),
                   state<Layout>(d_layout),
                   a,
                   b,
                   d,
                   workspace,
                   workspace_bytes,
                   *static_cast<const float*>(beta),
                   eave::emulated_cuda::drops_nan("cublas" + std::to_string(algorithm->data[0]))};
  const bool valid = fits(run.how, run.a_layout, run.b_layout, run.d_layout) && aligned(a, 16) && aligned(b, 16) &&
                     aligned(d, 16) && aligned(workspace, 256) && c == d;
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  return eave::emulated_cuda::enqueue(stream, run) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
