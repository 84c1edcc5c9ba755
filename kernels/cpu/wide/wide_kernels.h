// Kernels for wide vector registers, compiled once per instruction set and chosen when the program runs. If none fits
// the CPU or the compiler, oneDNN's operations are used instead. Each call runs on one thread, with scratch lent by the
// caller.
#pragma once

#include <cstdint>
#include <vector>

namespace eave::cpu {

// c = a · b, or c += a · b, plus the bias if given, then max(·, 0) if `relu`. c has rows × columns values, row-major,
// with rows `c_stride` apart.
struct Product {
  std::int64_t rows = 0, columns = 0, depth = 0;
  const float* a = nullptr;  // a[row · a_stride + k]; transposed: a[k · a_stride + row]
  std::int64_t a_stride = 0;
  bool a_transposed = false;
  const float* b = nullptr;  // b[k · b_stride + column]; transposed: b[column · b_stride + k]
  std::int64_t b_stride = 0;
  bool b_transposed = false;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  const float* bias = nullptr;  // nullptr: none
  bool relu = false;
  bool accumulate = false;  // adds the product to c
};

// A convolution, relu and a max-pool of pool × pool windows that do not overlap. At most one of pool² outputs of the
// convolution passes a gradient, and the kernel visits only those.
struct PooledConvolution {
  int height = 0, width = 0, channels = 0;  // of the input
  int window_height = 0, window_width = 0, stride = 1, pad = 0;
  int outputs = 0;  // channels
  int pool = 0;
  int rows = 0, columns = 0;  // after the pool
};

struct PooledGradient {
  std::int64_t samples = 0;
  const float* input = nullptr;
  const float* weights = nullptr;         // [height, width, in, out]
  const std::uint8_t* winners = nullptr;  // as max_pool writes them, one for each d_output
  const float* d_output = nullptr;        // already 0 where relu passes nothing
  float* d_weights = nullptr;
  float* d_input = nullptr;  // nullptr: not wanted
};

struct WideKernels {
  const char* name;  // name of the instruction set
  int width;         // floats in a vector
  // Floats of scratch that multiply needs. The result does not depend on the product's addresses.
  std::int64_t (*multiply_scratch)(const Product& product);
  void (*multiply)(const Product& product, float* scratch);
  // `outputs` must be a multiple of width.
  std::int64_t (*pooled_gradient_scratch)(const PooledConvolution& shape);
  void (*pooled_gradient)(const PooledConvolution& shape, const PooledGradient& gradient, float* scratch);
};

// The kernels that this CPU can run, the fastest first. May be empty.
std::vector<const WideKernels*> wide_kernels();

// Matrix products by the matrix unit (AMX).

// AVX-512's kernels, with large products by the matrix unit. nullptr if the unit is not available.
const WideKernels* wide_table_amx();

// The same with products of every size by the unit, for tests. nullptr if the unit is not available.
const WideKernels* wide_table_amx_only();

// Same contracts as in WideKernels. Call them only if the unit is available.

std::int64_t multiply_scratch_amx(const Product& product);
void multiply_amx(const Product& product, float* scratch);

}  // namespace eave::cpu
