#include "kernels/cuda/support/columns.h"
#include "kernels/cuda/support/rows.h"
#include "kernels/cuda/tokens.h"

namespace eave::cuda {
namespace {

template <class T>
struct RowNormPass {
  RowNorm norm;
  const T* input;
  const float* scale;
  const float* shift;
  T* output;
  float* moments;
};

// Reads a row three times; all but the first time it comes from a cache.
template <class T>
__global__ void __launch_bounds__(kBlock) normalise_rows(const RowNormPass<T> pass) {
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool inside = row < pass.norm.rows;
  const auto channels = static_cast<int>(pass.norm.channels), step = static_cast<int>(blockDim.x);
  const auto own = inside ? static_cast<int>(threadIdx.x) : channels;  // the thread's first channel
  const float share = 1.0f / static_cast<float>(channels);
  const T* const x = pass.input + (inside ? row : 0) * channels;
  float mean = 0;
  if (pass.norm.centred) {
    float sum = 0;
    for (int c = own; c < channels; c += step) sum += to_float(x[c]);
    mean = sum_of_row(sum) * share;
  }
  float squares = 0;
  for (int c = own; c < channels; c += step) {
    const float distance = to_float(x[c]) - mean;
    squares += distance * distance;
  }
  const float factor = 1.0f / sqrtf(sum_of_row(squares) * share + pass.norm.epsilon);
  for (int c = own; c < channels; c += step) {
    const float y = (to_float(x[c]) - mean) * factor * pass.scale[c];
    pass.output[row * channels + c] = from_float<T>(pass.shift == nullptr ? y : y + pass.shift[c]);
  }
  if (inside && threadIdx.x == 0 && pass.moments != nullptr) {
    pass.moments[2 * row] = mean;
    pass.moments[2 * row + 1] = factor;
  }
}

template <class T>
struct RowNormGradientPass {
  RowNorm norm;
  const T* input;
  const float* scale;
  const float* moments;
  const T* d_output;
  T* d_input;
};

template <class T>
__global__ void __launch_bounds__(kBlock) normalise_rows_back(const RowNormGradientPass<T> pass) {
  const std::int64_t row = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool inside = row < pass.norm.rows;
  const auto channels = static_cast<int>(pass.norm.channels), step = static_cast<int>(blockDim.x);
  const auto own = inside ? static_cast<int>(threadIdx.x) : channels;
  const float share = 1.0f / static_cast<float>(channels);
  const std::int64_t at = (inside ? row : 0) * channels;
  const T *const x = pass.input + at, *const d = pass.d_output + at;
  const float mean = inside ? pass.moments[2 * row] : 0, factor = inside ? pass.moments[2 * row + 1] : 0;
  float sum = 0, product = 0;  // of g = scale · d_output, and of g · (x − mean)
  for (int c = own; c < channels; c += step) {
    const float g = to_float(d[c]) * pass.scale[c];
    sum += g;
    product += g * (to_float(x[c]) - mean);
  }
  const float of_mean = pass.norm.centred ? sum_of_row(sum) * share : 0;
  const float of_deviation = sum_of_row(product) * share * factor * factor;
  for (int c = own; c < channels; c += step) {
    const float g = to_float(d[c]) * pass.scale[c];
    pass.d_input[at + c] = from_float<T>(factor * (g - of_mean - (to_float(x[c]) - mean) * of_deviation));
  }
}

template <class T>
struct RowNormParameters {
  static constexpr int kWidth = kActivationWidth<T>;
  const T* input;
  const T* d_output;
  const float* moments;
  std::int64_t channels;

  template <int kLanes>
  __device__ int begin(std::int64_t) const {
    return 0;
  }
  template <int kLanes>
  __device__ void apply(int, std::int64_t i, Sums<float, kLanes>& sums) const {
    const std::int64_t row = i / channels;
    const float mean = moments[2 * row], factor = moments[2 * row + 1];
    const auto x = load<kLanes>(input + i), d = load<kLanes>(d_output + i);
    for (int k = 0; k < kLanes; ++k) sums.first[k] += d.at[k] * ((x.at[k] - mean) * factor);
    for (int k = 0; k < kLanes; ++k) sums.second[k] += d.at[k];
  }
};

struct FinishRowNorm {
  float* d_scale;
  float* d_shift;
  __device__ void operator()(std::int64_t channel, double scale, double shift) const {
    d_scale[channel] = static_cast<float>(scale);
    if (d_shift != nullptr) d_shift[channel] = static_cast<float>(shift);
  }
};

}  // namespace

template <class T>
void row_norm(cudaStream_t stream, const RowNorm& norm, const T* input, const float* scale, const float* shift,
              T* output, float* moments) {
  if (norm.rows == 0) return;
  const RowLaunch rows = row_launch(norm.rows, norm.channels);
  const RowNormPass<T> pass = {norm, input, scale, shift, output, moments};
  EAVE_LAUNCH(normalise_rows<T>, rows.grid, rows.block, stream, pass);
}

std::int64_t row_norm_scratch(const RowNorm& norm) { return sums_scratch(norm.rows, norm.channels); }

template <class T>
void row_norm_gradient(cudaStream_t stream, const RowNorm& norm, const T* input, const float* scale,
                       const float* moments, const T* d_output, T* d_input, float* d_scale, float* d_shift,
                       double* scratch) {
  if (d_input != nullptr && norm.rows > 0) {
    const RowLaunch rows = row_launch(norm.rows, norm.channels);
    const RowNormGradientPass<T> pass = {norm, input, scale, moments, d_output, d_input};
    EAVE_LAUNCH(normalise_rows_back<T>, rows.grid, rows.block, stream, pass);
  }
  enqueue_sums("row_norm_parameters", stream, RowNormParameters<T>{input, d_output, moments, norm.channels},
               FinishRowNorm{d_scale, d_shift}, norm.rows, norm.channels,
               rows_in_packets(kActivationWidth<T>, norm.channels, input, d_output), scratch);
}

template void row_norm(cudaStream_t, const RowNorm&, const float*, const float*, const float*, float*, float*);
template void row_norm(cudaStream_t, const RowNorm&, const Half*, const float*, const float*, Half*, float*);
template void row_norm_gradient(cudaStream_t, const RowNorm&, const float*, const float*, const float*, const float*,
                                float*, float*, float*, double*);
template void row_norm_gradient(cudaStream_t, const RowNorm&, const Half*, const float*, const float*, const Half*,
                                Half*, float*, float*, double*);

}  // namespace eave::cuda
