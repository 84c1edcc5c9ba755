#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/support/columns.h"
#include "kernels/cuda/support/flat_pass.h"

namespace eave::cuda {
namespace {

template <class T>
struct AddPass {
  static constexpr int kWidth = kActivationWidth<T>;
  const T* a;
  const T* b;
  T* sum;

  int before_packet() const { return elements_before_packet(kWidth, a, b, sum); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto value = load<kLanes>(a + i);
    const auto more = load<kLanes>(b + i);
    for (int k = 0; k < kLanes; ++k) value.at[k] += more.at[k];
    store(sum + i, value);
  }
};

template <class T>
struct BiasPass {
  static constexpr int kWidth = kActivationWidth<T>;
  T* values;
  const float* bias;
  bool relu;

  template <int kLanes>
  __device__ Lanes<kLanes> begin(std::int64_t channel) const {
    return bias == nullptr ? Lanes<kLanes>{} : load<kLanes>(bias + channel);
  }
  template <int kLanes>
  __device__ void apply(const Lanes<kLanes>& more, std::int64_t i) const {
    auto value = load<kLanes>(values + i);
    for (int k = 0; k < kLanes; ++k) {
      const float y = bias == nullptr ? value.at[k] : value.at[k] + more.at[k];
      value.at[k] = relu && y < 0 ? 0 : y;  // NaN passes, so that a diverged run is seen
    }
    store(values + i, value);
  }
};

template <class T>
struct BiasGradient {
  static constexpr int kWidth = kActivationWidth<T>;
  const T* output;
  T* d_output;

  template <int kLanes>
  __device__ int begin(std::int64_t) const {
    return 0;
  }
  template <int kLanes>
  __device__ void apply(int, std::int64_t i, Sums<float, kLanes>& sums) const {
    auto d = load<kLanes>(d_output + i);
    if (output != nullptr) {
      const auto y = load<kLanes>(output + i);
      for (int k = 0; k < kLanes; ++k) d.at[k] = y.at[k] > 0 ? d.at[k] : 0;
      store(d_output + i, d);
    }
    for (int k = 0; k < kLanes; ++k) sums.first[k] += d.at[k];
  }
};

struct FinishBias {
  float* d_bias;
  __device__ void operator()(std::int64_t channel, double first, double) const {
    d_bias[channel] = static_cast<float>(first);
  }
};

}  // namespace

template <class T>
void add(cudaStream_t stream, const T* a, const T* b, T* sum, std::int64_t count) {
  enqueue_flat("add", stream, AddPass<T>{a, b, sum}, count);
}

template <class T>
void bias_forward(cudaStream_t stream, T* values, const float* bias, bool relu, std::int64_t rows,
                  std::int64_t columns) {
  const bool packets = rows_in_packets(kActivationWidth<T>, columns, values) &&
                       (bias == nullptr || elements_before_packet(4, bias) == 0);
  enqueue_rows("bias_forward", stream, BiasPass<T>{values, bias, relu}, rows, columns, packets);
}

std::int64_t bias_scratch(std::int64_t rows, std::int64_t columns) { return sums_scratch(rows, columns); }

template <class T>
void bias_backward(cudaStream_t stream, const T* output, T* d_output, float* d_bias, std::int64_t rows,
                   std::int64_t columns, double* scratch) {
  if (d_bias == nullptr) {
    if (output == nullptr) return;
    const T* const input = nullptr;
    activation_backward(stream, Elementwise::kRelu, 0, input, output, d_output, d_output, rows * columns);
    return;
  }
  enqueue_sums("bias_backward", stream, BiasGradient<T>{output, d_output}, FinishBias{d_bias}, rows, columns,
               rows_in_packets(kActivationWidth<T>, columns, output, d_output), scratch);
}

template void add(cudaStream_t, const float*, const float*, float*, std::int64_t);
template void add(cudaStream_t, const Half*, const Half*, Half*, std::int64_t);
template void bias_forward(cudaStream_t, float*, const float*, bool, std::int64_t, std::int64_t);
template void bias_forward(cudaStream_t, Half*, const float*, bool, std::int64_t, std::int64_t);
template void bias_backward(cudaStream_t, const float*, float*, float*, std::int64_t, std::int64_t, double*);
template void bias_backward(cudaStream_t, const Half*, Half*, float*, std::int64_t, std::int64_t, double*);

}  // namespace eave::cuda
