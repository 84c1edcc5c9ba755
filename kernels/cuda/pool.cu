#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/pixel_pass.h"

namespace eave::cuda {
namespace {

// The positions first … last − 1.
struct Range {
  int first, last;
};

// The part of a window that lies inside the image.
__device__ inline Range inside(int position, int stride, int pad, int window, int size) {
  const int begin = position * stride - pad;
  return {max(0, -begin), min(window, size - begin)};
}

// The windows that cover a pixel, of `count` windows in all.
__device__ inline Range covering(int pixel, int stride, int pad, int window, int count) {
  const int from = pixel + pad - window + 1;
  return {from <= 0 ? 0 : (from + stride - 1) / stride, min(count, (pixel + pad) / stride + 1)};
}

__device__ inline std::int64_t input_at(const PoolGeometry& p, std::int64_t sample, int row, int column) {
  return ((sample * p.height + row) * p.width + column) * p.channels;
}

__device__ inline std::int64_t output_at(const PoolGeometry& p, std::int64_t sample, int row, int column) {
  return ((sample * p.rows + row) * p.columns + column) * p.channels;
}

template <class T>
struct MaxPass {
  static constexpr int kWidth = kActivationWidth<T>;
  PoolGeometry p;
  const T* input;
  const float* bias;
  bool relu;
  T* output;
  std::uint8_t* winners;

  template <int kLanes>
  struct Best {
    Lanes<kLanes> value;
    Packet<std::uint8_t, kLanes> winner;
  };

  template <int kLanes>
  __device__ Lanes<kLanes> value_at(std::int64_t i, const Lanes<kLanes>& more) const {
    auto value = load<kLanes>(input + i);
    for (int k = 0; k < kLanes; ++k) {
      if (bias != nullptr) value.at[k] += more.at[k];
      // NaN passes, so that a diverged run is seen.
      if (relu && value.at[k] < 0) value.at[k] = 0;
    }
    return value;
  }

  template <int kLanes>
  __device__ Best<kLanes> largest(const Pixel& at, int channel, const Lanes<kLanes>& more) const {
    const Range rows = inside(at.row, p.stride, p.pad, p.window_height, p.height);
    const Range columns = inside(at.column, p.stride, p.pad, p.window_width, p.width);
    const int top = at.row * p.stride - p.pad, left = at.column * p.stride - p.pad;
    Best<kLanes> best = {};
    bool first = true;
    for (int i = rows.first; i < rows.last; ++i) {
      for (int j = columns.first; j < columns.last; ++j, first = false) {
        const auto value = value_at<kLanes>(input_at(p, at.sample, top + i, left + j) + channel, more);
        const auto position = static_cast<std::uint8_t>(i * p.window_width + j);
        for (int k = 0; k < kLanes; ++k) {
          // NaN wins at any place of the window.
          const bool larger = first || value.at[k] > best.value.at[k] || value.at[k] != value.at[k];
          best.value.at[k] = larger ? value.at[k] : best.value.at[k];
          best.winner.at[k] = larger ? position : best.winner.at[k];
        }
      }
    }
    return best;
  }

  template <int kLanes>
  __device__ void apply(const Pixel& at, int channel) const {
    Lanes<kLanes> more = {};
    if (bias != nullptr) more = load<kLanes>(bias + channel);
    auto best = largest<kLanes>(at, channel, more);
    const std::int64_t place = output_at(p, at.sample, at.row, at.column) + channel;
    store(output + place, best.value);
    if (winners == nullptr) return;
    for (int k = 0; k < kLanes; ++k) {
      if (relu && best.value.at[k] <= 0) best.winner.at[k] = cpu::kDead;
    }
    *reinterpret_cast<Packet<std::uint8_t, kLanes>*>(winners + place) = best.winner;
  }
};

template <class T>
struct MaxGradientPass {
  static constexpr int kWidth = kActivationWidth<T>;
  PoolGeometry p;
  const std::uint8_t* winners;
  const T* d_output;
  T* d_input;

  template <int kLanes>
  __device__ void apply(const Pixel& at, int channel) const {
    const Range rows = covering(at.row, p.stride, p.pad, p.window_height, p.rows);
    const Range columns = covering(at.column, p.stride, p.pad, p.window_width, p.columns);
    Lanes<kLanes> sum = {};
    for (int row = rows.first; row < rows.last; ++row) {
      for (int column = columns.first; column < columns.last; ++column) {
        const int position = (at.row + p.pad - row * p.stride) * p.window_width + at.column + p.pad - column * p.stride;
        const std::int64_t place = output_at(p, at.sample, row, column) + channel;
        const auto winner = *reinterpret_cast<const Packet<std::uint8_t, kLanes>*>(winners + place);
        const auto d = load<kLanes>(d_output + place);
        for (int k = 0; k < kLanes; ++k) sum.at[k] += winner.at[k] == position ? d.at[k] : 0;
      }
    }
    store(d_input + input_at(p, at.sample, at.row, at.column) + channel, sum);
  }
};

template <class T>
struct AveragePass {
  static constexpr int kWidth = kActivationWidth<T>;
  PoolGeometry p;
  float share;
  const T* input;
  T* output;

  template <int kLanes>
  __device__ void apply(const Pixel& at, int channel) const {
    const Range rows = inside(at.row, p.stride, p.pad, p.window_height, p.height);
    const Range columns = inside(at.column, p.stride, p.pad, p.window_width, p.width);
    const int top = at.row * p.stride - p.pad, left = at.column * p.stride - p.pad;
    Lanes<kLanes> sum = {};
    for (int i = rows.first; i < rows.last; ++i) {
      for (int j = columns.first; j < columns.last; ++j) {
        const auto value = load<kLanes>(input + input_at(p, at.sample, top + i, left + j) + channel);
        for (int k = 0; k < kLanes; ++k) sum.at[k] += value.at[k];
      }
    }
    for (int k = 0; k < kLanes; ++k) sum.at[k] *= share;
    store(output + output_at(p, at.sample, at.row, at.column) + channel, sum);
  }
};

template <class T>
struct AverageGradientPass {
  static constexpr int kWidth = kActivationWidth<T>;
  PoolGeometry p;
  float share;
  const T* d_output;
  T* d_input;

  template <int kLanes>
  __device__ void apply(const Pixel& at, int channel) const {
    const Range rows = covering(at.row, p.stride, p.pad, p.window_height, p.rows);
    const Range columns = covering(at.column, p.stride, p.pad, p.window_width, p.columns);
    Lanes<kLanes> sum = {};
    for (int row = rows.first; row < rows.last; ++row) {
      for (int column = columns.first; column < columns.last; ++column) {
        const auto d = load<kLanes>(d_output + output_at(p, at.sample, row, column) + channel);
        for (int k = 0; k < kLanes; ++k) sum.at[k] += share * d.at[k];
      }
    }
    store(d_input + input_at(p, at.sample, at.row, at.column) + channel, sum);
  }
};

Pixels inputs(const PoolGeometry& p) { return {p.samples, p.height, p.width, p.channels}; }
Pixels outputs(const PoolGeometry& p) { return {p.samples, p.rows, p.columns, p.channels}; }

template <class... T>
bool in_packets(const PoolGeometry& p, int width, const T*... pointers) {
  return p.channels % width == 0 && (... && (elements_before_packet(width, pointers) == 0));
}

float share_of(const PoolGeometry& p) { return 1.0f / static_cast<float>(p.window_height * p.window_width); }

}  // namespace

template <class T>
void bias_relu_max_pool(cudaStream_t stream, const PoolGeometry& pool, const T* input, const float* bias, bool relu,
                        T* output, std::uint8_t* winners) {
  const MaxPass<T> pass = {pool, input, bias, relu, output, winners};
  enqueue_pixels("max_pool_forward", stream, pass, outputs(pool),
                 in_packets(pool, pass.kWidth, input, output, winners) && elements_before_packet(4, bias) == 0);
}

template <class T>
void max_pool_forward(cudaStream_t stream, const PoolGeometry& pool, const T* input, T* output, std::uint8_t* winners) {
  bias_relu_max_pool(stream, pool, input, nullptr, false, output, winners);
}

template <class T>
void max_pool_backward(cudaStream_t stream, const PoolGeometry& pool, const std::uint8_t* winners, const T* d_output,
                       T* d_input) {
  const MaxGradientPass<T> pass = {pool, winners, d_output, d_input};
  enqueue_pixels("max_pool_backward", stream, pass, inputs(pool),
                 in_packets(pool, pass.kWidth, winners, d_output, d_input));
}

template <class T>
void average_pool_forward(cudaStream_t stream, const PoolGeometry& pool, const T* input, T* output) {
  const AveragePass<T> pass = {pool, share_of(pool), input, output};
  enqueue_pixels("average_pool_forward", stream, pass, outputs(pool), in_packets(pool, pass.kWidth, input, output));
}

template <class T>
void average_pool_backward(cudaStream_t stream, const PoolGeometry& pool, const T* d_output, T* d_input) {
  const AverageGradientPass<T> pass = {pool, share_of(pool), d_output, d_input};
  enqueue_pixels("average_pool_backward", stream, pass, inputs(pool), in_packets(pool, pass.kWidth, d_output, d_input));
}

#define EAVE_INSTANTIATE(T)                                                                              \
  template void bias_relu_max_pool(cudaStream_t, const PoolGeometry&, const T*, const float*, bool, T*,  \
                                   std::uint8_t*);                                                       \
  template void max_pool_forward(cudaStream_t, const PoolGeometry&, const T*, T*, std::uint8_t*);        \
  template void max_pool_backward(cudaStream_t, const PoolGeometry&, const std::uint8_t*, const T*, T*); \
  template void average_pool_forward(cudaStream_t, const PoolGeometry&, const T*, T*);                   \
  template void average_pool_backward(cudaStream_t, const PoolGeometry&, const T*, T*)
EAVE_INSTANTIATE(float);
EAVE_INSTANTIATE(Half);

}  // namespace eave::cuda
