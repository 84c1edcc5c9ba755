#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/support/columns.h"

namespace eave::cuda {
namespace {

// Scratch of one batch norm: the partial sums, then three floats per channel.
struct Scratch {
  double* partial;
  float* a;
  float* b;
  float* c;
};

Scratch divide(const NormShape& shape, void* scratch) {
  auto* partial = static_cast<double*>(scratch);
  auto* a = reinterpret_cast<float*>(partial + sums_scratch(shape.rows, shape.channels));
  return {partial, a, a + shape.channels, a + 2 * shape.channels};
}

template <class T>
struct Moments {
  static constexpr int kWidth = kActivationWidth<T>;
  template <int kLanes>
  using Columns = Lanes<kLanes>;  // values of the first row
  const T* input;

  template <int kLanes>
  __device__ Lanes<kLanes> begin(std::int64_t channel) const {
    return load<kLanes>(input + channel);
  }
  template <int kLanes>
  __device__ void apply(const Lanes<kLanes>& center, std::int64_t i, Sums<float, kLanes>& sums) const {
    const auto values = load<kLanes>(input + i);
    for (int k = 0; k < kLanes; ++k) {
      const float value = values.at[k] - center.at[k];
      sums.first[k] += value;
      sums.second[k] += value * value;
    }
  }
};

// Computes a channel's factor and offset, and writes what is kept for backward and evaluation.
template <class T>
struct FinishMoments {
  NormForward<T> call;
  std::int64_t rows, channels;
  float* factor;
  float* offset;

  __device__ void operator()(std::int64_t c, double first, double second) const {
    const double count = static_cast<double>(rows);
    const double away = first / count;
    const auto mean = static_cast<float>(to_float(call.input[c]) + away);
    const auto variance = static_cast<float>(fmax(0.0, second / count - away * away));
    const float inverse_deviation = 1.0f / sqrtf(variance + call.epsilon);
    call.saved[c] = mean;
    call.saved[channels + c] = inverse_deviation;
    factor[c] = call.scale[c] * inverse_deviation;
    offset[c] = call.shift[c] - mean * factor[c];
    if (call.variance != nullptr) call.variance[c] = variance;
    if (call.running_mean != nullptr) move_running(c, mean, variance);
  }

  __device__ void move_running(std::int64_t c, float mean, float variance) const {
    const float unbiased = static_cast<float>(rows) / static_cast<float>(rows > 1 ? rows - 1 : 1);
    const float mean_now = call.running_mean[c] + call.momentum * (mean - call.running_mean[c]);
    const float variance_now =
        call.running_variance[c] + call.momentum * (variance * unbiased - call.running_variance[c]);
    // If the new averages would not be finite, the channel keeps the old ones.
    if (!isfinite(mean_now) || !isfinite(variance_now)) return;
    call.running_mean[c] = mean_now;
    call.running_variance[c] = variance_now;
  }
};

template <class T>
struct Normalise {
  static constexpr int kWidth = kActivationWidth<T>;
  template <int kLanes>
  struct Columns {
    Lanes<kLanes> factor, offset;
  };
  const T* input;
  const T* skip;
  const float* factor;
  const float* offset;
  bool relu;
  T* output;

  template <int kLanes>
  __device__ Columns<kLanes> begin(std::int64_t channel) const {
    return {load<kLanes>(factor + channel), load<kLanes>(offset + channel)};
  }
  template <int kLanes>
  __device__ void apply(const Columns<kLanes>& columns, std::int64_t i) const {
    auto value = load<kLanes>(input + i);
    Lanes<kLanes> more = {};
    if (skip != nullptr) more = load<kLanes>(skip + i);
    for (int k = 0; k < kLanes; ++k) {
      float y = value.at[k] * columns.factor.at[k] + columns.offset.at[k];
      if (skip != nullptr) y += more.at[k];
      value.at[k] = relu && y < 0 ? 0 : y;  // NaN passes, so that a diverged run is seen
    }
    store(output + i, value);
  }
};

template <class T>
struct GradientSums {
  static constexpr int kWidth = kActivationWidth<T>;
  template <int kLanes>
  using Columns = Lanes<kLanes>;  // the mean
  NormBackward<T> call;           // output is nullptr if there is no relu

  template <int kLanes>
  __device__ Lanes<kLanes> begin(std::int64_t channel) const {
    return load<kLanes>(call.saved + channel);
  }
  template <int kLanes>
  __device__ void apply(const Lanes<kLanes>& mean, std::int64_t i, Sums<float, kLanes>& sums) const {
    auto d = load<kLanes>(call.d_output + i);
    if (call.d_more != nullptr) {
      const auto more = load<kLanes>(call.d_more + i);
      for (int k = 0; k < kLanes; ++k) d.at[k] += more.at[k];
    }
    if (call.output != nullptr) {
      const auto output = load<kLanes>(call.output + i);
      for (int k = 0; k < kLanes; ++k) d.at[k] = output.at[k] > 0 ? d.at[k] : 0;
    }
    if (call.output != nullptr || call.d_more != nullptr) store(call.d_output + i, d);
    const auto input = load<kLanes>(call.input + i);
    for (int k = 0; k < kLanes; ++k) {
      sums.first[k] += d.at[k];
      sums.second[k] += d.at[k] * (input.at[k] - mean.at[k]);
    }
  }
};

// dx = γ/σ · (d − mean(d) − x̂ · mean(d·x̂)), written as a·d + b·x + c.
template <class T>
struct FinishGradient {
  NormBackward<T> call;
  std::int64_t rows, channels;
  float* a;
  float* b;
  float* c;

  __device__ void operator()(std::int64_t i, double first, double second) const {
    const float inverse_deviation = call.saved[channels + i];
    const auto d_shift = static_cast<float>(first);
    const auto d_scale = static_cast<float>(second * inverse_deviation);
    call.d_shift[i] = d_shift;
    call.d_scale[i] = d_scale;
    const float share = 1.0f / static_cast<float>(rows);
    a[i] = call.scale[i] * inverse_deviation;
    b[i] = -a[i] * inverse_deviation * d_scale * share;
    c[i] = -a[i] * d_shift * share - b[i] * call.saved[i];
  }
};

template <class T>
struct InputGradient {
  static constexpr int kWidth = kActivationWidth<T>;
  template <int kLanes>
  struct Columns {
    Lanes<kLanes> a, b, c;
  };
  const T* d_output;
  const T* input;
  const float* a;
  const float* b;
  const float* c;
  T* d_input;

  template <int kLanes>
  __device__ Columns<kLanes> begin(std::int64_t channel) const {
    return {load<kLanes>(a + channel), load<kLanes>(b + channel), load<kLanes>(c + channel)};
  }
  template <int kLanes>
  __device__ void apply(const Columns<kLanes>& columns, std::int64_t i) const {
    auto d = load<kLanes>(d_output + i);
    const auto x = load<kLanes>(input + i);
    for (int k = 0; k < kLanes; ++k) {
      d.at[k] = columns.a.at[k] * d.at[k] + columns.b.at[k] * x.at[k] + columns.c.at[k];
    }
    store(d_input + i, d);
  }
};

struct StatisticsOf {
  const float* scale;
  const float* shift;
  const float* mean;
  const float* variance;
  float epsilon;
};

__global__ void __launch_bounds__(kBlock)
    prepare_evaluation(const StatisticsOf of, const std::int64_t channels, float* factor, float* offset) {
  const std::int64_t c = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (c >= channels) return;
  factor[c] = of.scale[c] / sqrtf(of.variance[c] + of.epsilon);
  offset[c] = of.shift[c] - of.mean[c] * factor[c];
}

template <class T>
void enqueue_normalise(cudaStream_t stream, const NormShape& shape, const Normalise<T>& pass) {
  const bool packets = rows_in_packets(pass.kWidth, shape.channels, pass.input, pass.skip, pass.output) &&
                       elements_before_packet(4, pass.factor, pass.offset) == 0;
  enqueue_rows("normalise", stream, pass, shape.rows, shape.channels, packets);
}

}  // namespace

std::int64_t norm_scratch_bytes(const NormShape& shape) {
  return sums_scratch(shape.rows, shape.channels) * 8 + 3 * shape.channels * 4;
}

template <class T>
void norm_forward(cudaStream_t stream, const NormShape& shape, const NormForward<T>& call, void* scratch) {
  const Scratch s = divide(shape, scratch);
  const Moments<T> moments = {call.input};
  const FinishMoments<T> finish = {call, shape.rows, shape.channels, s.a, s.b};
  enqueue_sums("norm_moments", stream, moments, finish, shape.rows, shape.channels,
               rows_in_packets(moments.kWidth, shape.channels, call.input), s.partial);
  enqueue_normalise<T>(stream, shape, {call.input, call.skip, s.a, s.b, shape.relu, call.output});
}

template <class T>
void norm_backward(cudaStream_t stream, const NormShape& shape, const NormBackward<T>& call, void* scratch) {
  const Scratch s = divide(shape, scratch);
  GradientSums<T> sums = {call};
  if (!shape.relu) sums.call.output = nullptr;
  constexpr int kWidth = kActivationWidth<T>;
  const bool packets =
      rows_in_packets(kWidth, shape.channels, call.input, sums.call.output, call.d_output, call.d_more, call.d_input);
  const FinishGradient<T> finish = {call, shape.rows, shape.channels, s.a, s.b, s.c};
  enqueue_sums("norm_gradient_sums", stream, sums, finish, shape.rows, shape.channels,
               packets && elements_before_packet(4, call.saved) == 0, s.partial);
  if (call.d_input == nullptr) return;
  const InputGradient<T> gradient = {call.d_output, call.input, s.a, s.b, s.c, call.d_input};
  enqueue_rows("norm_input_gradient", stream, gradient, shape.rows, shape.channels,
               packets && elements_before_packet(4, s.a, s.b, s.c) == 0);
}

template <class T>
void norm_evaluate(cudaStream_t stream, const NormShape& shape, const NormEvaluation<T>& call, void* scratch) {
  if (shape.channels == 0) return;
  const Scratch s = divide(shape, scratch);
  const StatisticsOf of = {call.scale, call.shift, call.mean, call.variance, call.epsilon};
  EAVE_LAUNCH(prepare_evaluation, grid_of(blocks_for(shape.channels)), dim3(kBlock), stream, of, shape.channels, s.a,
              s.b);
  enqueue_normalise<T>(stream, shape, {call.input, call.skip, s.a, s.b, shape.relu, call.output});
}

template void norm_forward(cudaStream_t, const NormShape&, const NormForward<float>&, void*);
template void norm_forward(cudaStream_t, const NormShape&, const NormForward<Half>&, void*);
template void norm_backward(cudaStream_t, const NormShape&, const NormBackward<float>&, void*);
template void norm_backward(cudaStream_t, const NormShape&, const NormBackward<Half>&, void*);
template void norm_evaluate(cudaStream_t, const NormShape&, const NormEvaluation<float>&, void*);
template void norm_evaluate(cudaStream_t, const NormShape&, const NormEvaluation<Half>&, void*);

}  // namespace eave::cuda
