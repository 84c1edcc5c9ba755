#include "kernels/cuda/support/pixel_pass.h"
#include "kernels/cuda/tokens.h"

namespace eave::cuda {
namespace {

// A pixel is a head of a row, and a channel one of its pairs.
template <class T>
struct RotaryPass {
  static constexpr int kWidth = kActivationWidth<T>;
  Rotary rotary;
  const float* turns;
  float direction;
  const T* input;
  T* output;

  template <int kLanes>
  __device__ void apply(const Pixel& at, int pair) const {
    const std::int64_t half = rotary.width / 2, heads = rotary.turned + rotary.copied;
    const std::int64_t i = ((at.sample * rotary.positions + at.row) * heads + at.column) * rotary.width + pair;
    auto first = load<kLanes>(input + i), second = load<kLanes>(input + i + half);
    if (at.column < rotary.turned) {
      const float* const cosines = turns + at.row * half + pair;
      const float* const sines = cosines + rotary.positions * half;
      for (int k = 0; k < kLanes; ++k) {
        const float a = first.at[k], b = second.at[k], sine = direction * sines[k];
        first.at[k] = a * cosines[k] - b * sine;
        second.at[k] = b * cosines[k] + a * sine;
      }
    }
    store(output + i, first);
    store(output + i + half, second);
  }
};

}  // namespace

template <class T>
void rotate(cudaStream_t stream, const Rotary& rotary, const float* turns, bool back, const T* input, T* output) {
  const RotaryPass<T> pass = {rotary, turns, back ? -1.0f : 1.0f, input, output};
  const auto half = static_cast<int>(rotary.width / 2);
  enqueue_pixels(
      "rotate", stream, pass,
      {rotary.samples, static_cast<int>(rotary.positions), static_cast<int>(rotary.turned + rotary.copied), half},
      half % pass.kWidth == 0 && elements_before_packet(pass.kWidth, input, output) == 0);
}

template void rotate(cudaStream_t, const Rotary&, const float*, bool, const float*, float*);
template void rotate(cudaStream_t, const Rotary&, const float*, bool, const Half*, Half*);

}  // namespace eave::cuda
