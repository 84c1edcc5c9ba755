#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/pixel_pass.h"

namespace eave::cuda {
namespace {

__device__ __host__ inline int channels_before(const ShortcutGeometry& s) { return (s.outputs - s.channels) / 2; }

template <class T>
struct ForwardPass {
  static constexpr int kWidth = kActivationWidth<T>;
  ShortcutGeometry s;
  const T* input;
  T* output;

  template <int kLanes>
  __device__ void apply(const Pixel& at, int channel) const {
    const int from = channel - channels_before(s);
    Lanes<kLanes> value = {};
    if (from >= 0 && from < s.channels) {
      const std::int64_t row = at.sample * s.height + at.row * s.stride;
      value = load<kLanes>(input + (row * s.width + at.column * s.stride) * s.channels + from);
    }
    store(output + ((at.sample * s.rows + at.row) * s.columns + at.column) * s.outputs + channel, value);
  }
};

template <class T>
struct BackwardPass {
  static constexpr int kWidth = kActivationWidth<T>;
  ShortcutGeometry s;
  const T* d_output;
  T* d_input;

  template <int kLanes>
  __device__ void apply(const Pixel& at, int channel) const {
    const int row = at.row / s.stride, column = at.column / s.stride;
    Lanes<kLanes> value = {};
    if (row * s.stride == at.row && column * s.stride == at.column && row < s.rows && column < s.columns) {
      const std::int64_t pixel = (at.sample * s.rows + row) * s.columns + column;
      value = load<kLanes>(d_output + pixel * s.outputs + channel + channels_before(s));
    }
    store(d_input + ((at.sample * s.height + at.row) * s.width + at.column) * s.channels + channel, value);
  }
};

template <class T>
bool in_packets(const ShortcutGeometry& s, const T* a, const T* b) {
  constexpr int kWidth = kActivationWidth<T>;
  return s.channels % kWidth == 0 && s.outputs % kWidth == 0 && channels_before(s) % kWidth == 0 &&
         elements_before_packet(kWidth, a, b) == 0;
}

}  // namespace

template <class T>
void shortcut_forward(cudaStream_t stream, const ShortcutGeometry& shape, const T* input, T* output) {
  enqueue_pixels("shortcut_forward", stream, ForwardPass<T>{shape, input, output},
                 {shape.samples, shape.rows, shape.columns, shape.outputs}, in_packets(shape, input, output));
}

template <class T>
void shortcut_backward(cudaStream_t stream, const ShortcutGeometry& shape, const T* d_output, T* d_input) {
  enqueue_pixels("shortcut_backward", stream, BackwardPass<T>{shape, d_output, d_input},
                 {shape.samples, shape.height, shape.width, shape.channels}, in_packets(shape, d_output, d_input));
}

template void shortcut_forward(cudaStream_t, const ShortcutGeometry&, const float*, float*);
template void shortcut_forward(cudaStream_t, const ShortcutGeometry&, const Half*, Half*);
template void shortcut_backward(cudaStream_t, const ShortcutGeometry&, const float*, float*);
template void shortcut_backward(cudaStream_t, const ShortcutGeometry&, const Half*, Half*);

}  // namespace eave::cuda
