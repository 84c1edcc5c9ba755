#include <cstdint>
#include <limits>
#include <string>

#include "eave/check.h"
#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/lanes.h"
#include "kernels/cuda/support/launch.h"
#include "kernels/cuda/support/rows.h"

namespace eave::cuda {
namespace {

constexpr int kRadius = cpu::kLargestRadius;
constexpr std::int64_t kMostValues = std::numeric_limits<int>::max() - 2 * kBlock;  // of a launch: an int counts them

// A block computes as many values as it has threads. It loads them into shared memory, with the neighbours within the
// radius (for gradients, within twice the radius).
struct Values {
  int count;  // values of all rows
  int channels, radius;
  float alpha, beta, bias;
  bool roots;  // β = 3/4

  __device__ int first() const { return static_cast<int>(blockIdx.x) * kBlock; }
  __device__ bool has(int at) const { return at >= 0 && at < count; }

  // Sums a channel's window. `values` has the channel at index `middle`, with its neighbours around it.
  __device__ float sum_window(const float* values, int middle, int channel) const {
    float sum = 0;
    const int from = max(-radius, -channel), to = min(radius, channels - 1 - channel);
    for (int k = from; k <= to; ++k) sum += values[middle + k];
    return sum;
  }
  __device__ float factor(float inverse) const {
    if (!roots) return powf(inverse, beta);
    const float root = sqrtf(inverse);
    return root * sqrtf(root);
  }
};

// Loads the squares of a block's values, and of `margin` values before and after them.
template <class T>
__device__ inline void load_squares(const Values& of, const T* input, int margin, float* squares) {
  for (int i = static_cast<int>(threadIdx.x); i < kBlock + 2 * margin; i += kBlock) {
    const int at = of.first() - margin + i;
    const float value = of.has(at) ? to_float(input[at]) : 0;
    squares[i] = value * value;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) norm_values(const Values of, const T* input, T* output) {
  __shared__ float squares[kBlock + 2 * kRadius];
  load_squares(of, input, of.radius, squares);
  __syncthreads();
  const int own = static_cast<int>(threadIdx.x), at = of.first() + own;
  if (!of.has(at)) return;
  const float sum = of.sum_window(squares, own + of.radius, at % of.channels);
  output[at] = from_float<T>(to_float(input[at]) * of.factor(1.0f / (of.bias + of.alpha * sum)));
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    norm_gradients(const Values of, const T* input, const T* d_output, T* d_input) {
  __shared__ float squares[kBlock + 4 * kRadius];
  __shared__ float factors[kBlock + 2 * kRadius];
  __shared__ float products[kBlock + 2 * kRadius];
  load_squares(of, input, 2 * of.radius, squares);
  __syncthreads();
  const int own = static_cast<int>(threadIdx.x);
  for (int i = own; i < kBlock + 2 * of.radius; i += kBlock) {
    const int at = of.first() - of.radius + i;
    if (!of.has(at)) continue;
    const float sum = of.sum_window(squares, i + of.radius, at % of.channels);
    const float inverse = 1.0f / (of.bias + of.alpha * sum);
    factors[i] = of.factor(inverse);
    products[i] = to_float(d_output[at]) * to_float(input[at]) * factors[i] * inverse;
  }
  __syncthreads();
  const int at = of.first() + own;
  if (!of.has(at)) return;
  const float sum = of.sum_window(products, own + of.radius, at % of.channels);
  const float scale = 2 * of.alpha * of.beta;
  d_input[at] = from_float<T>(to_float(d_output[at]) * factors[own + of.radius] - scale * to_float(input[at]) * sum);
}

Values values_of(const ResponseNorm& norm) {
  EAVE_CHECK(norm.rows * norm.channels <= kMostValues, std::to_string(norm.channels) + " channels");
  EAVE_CHECK(norm.radius <= kRadius, "a radius of " + std::to_string(norm.radius));
  return {static_cast<int>(norm.rows * norm.channels),
          static_cast<int>(norm.channels),
          norm.radius,
          norm.alpha,
          norm.beta,
          norm.bias,
          norm.beta == 0.75f};
}

// Calls launch(values, offset of the first one) for parts of the rows.
template <class Launch>
void launch_in_parts(const ResponseNorm& norm, const Launch& launch) {
  for_row_parts(norm.rows, norm.channels, kMostValues, [&](std::int64_t first, std::int64_t rows) {
    ResponseNorm part = norm;
    part.rows = rows;
    launch(values_of(part), first * norm.channels);
  });
}

}  // namespace

template <class T>
void local_response_norm(cudaStream_t stream, const ResponseNorm& norm, const T* input, T* output) {
  launch_in_parts(norm, [&](const Values& of, std::int64_t at) {
    EAVE_LAUNCH((norm_values<T>), grid_of(blocks_for(of.count)), dim3(kBlock), stream, of, input + at, output + at);
  });
}

template <class T>
void local_response_norm_gradient(cudaStream_t stream, const ResponseNorm& norm, const T* input, const T* d_output,
                                  T* d_input) {
  launch_in_parts(norm, [&](const Values& of, std::int64_t at) {
    EAVE_LAUNCH((norm_gradients<T>), grid_of(blocks_for(of.count)), dim3(kBlock), stream, of, input + at, d_output + at,
                d_input + at);
  });
}

template void local_response_norm(cudaStream_t, const ResponseNorm&, const float*, float*);
template void local_response_norm(cudaStream_t, const ResponseNorm&, const Half*, Half*);
template void local_response_norm_gradient(cudaStream_t, const ResponseNorm&, const float*, const float*, float*);
template void local_response_norm_gradient(cudaStream_t, const ResponseNorm&, const Half*, const Half*, Half*);

}  // namespace eave::cuda
