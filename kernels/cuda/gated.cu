#include "kernels/cuda/support/pixel_pass.h"
#include "kernels/cuda/tokens.h"

namespace eave::cuda {
namespace {

// The sample of a pixel is a row.
template <class T, class Word>
struct GatePass {
  static constexpr int kWidth = kActivationWidth<T>;
  Word word;
  int channels;
  const T* input;
  T* output;

  template <int kLanes>
  __device__ void apply(const Pixel& at, int channel) const {
    const T* const row = input + 2 * at.sample * channels + channel;
    auto first = load<kLanes>(row);
    const auto second = load<kLanes>(row + channels);
    for (int k = 0; k < kLanes; ++k) first.at[k] = word.forward(first.at[k]) * second.at[k];
    store(output + at.sample * channels + channel, first);
  }
};

template <class T, class Word>
struct GateGradientPass {
  static constexpr int kWidth = kActivationWidth<T>;
  Word word;
  int channels;
  const T* input;
  const T* d_output;
  T* d_input;

  template <int kLanes>
  __device__ void apply(const Pixel& at, int channel) const {
    const std::int64_t i = 2 * at.sample * channels + channel;
    auto first = load<kLanes>(input + i), second = load<kLanes>(input + i + channels);
    const auto d = load<kLanes>(d_output + at.sample * channels + channel);
    for (int k = 0; k < kLanes; ++k) {
      const float x = first.at[k];
      // No word reads the output, because relu's derivative may as well be taken at its input.
      first.at[k] = word.backward(x, d.at[k] * second.at[k]);
      second.at[k] = word.forward(x) * d.at[k];
    }
    store(d_input + i, first);
    store(d_input + i + channels, second);
  }
};

// Calls enqueue(name, word) for the word.
template <class Enqueue>
void with_word(Elementwise word, const Enqueue& enqueue) {
  switch (word) {
#define EAVE_CASE(word, Word) \
  case Elementwise::k##Word:  \
    return enqueue(#word "_gate", elementwise::make_word<elementwise::Word>(0));
    EAVE_EACH_ELEMENTWISE(EAVE_CASE)
#undef EAVE_CASE
  }
}

template <class T>
bool in_packets(const Gated& shape, const T* a, const T* b, const T* c) {
  constexpr int kWidth = kActivationWidth<T>;
  return shape.channels % kWidth == 0 && elements_before_packet(kWidth, a, b, c) == 0;
}

}  // namespace

template <class T>
void gate(cudaStream_t stream, const Gated& shape, const T* input, T* output) {
  const T* const none = nullptr;
  const bool packets = in_packets<T>(shape, input, output, none);
  with_word(shape.word, [&](const char* name, auto word) {
    enqueue_pixels(name, stream, GatePass<T, decltype(word)>{word, shape.channels, input, output},
                   {shape.rows, 1, 1, shape.channels}, packets);
  });
}

template <class T>
void gate_gradient(cudaStream_t stream, const Gated& shape, const T* input, const T* d_output, T* d_input) {
  const bool packets = in_packets<T>(shape, input, d_output, d_input);
  with_word(shape.word, [&](const char* name, auto word) {
    enqueue_pixels(name, stream, GateGradientPass<T, decltype(word)>{word, shape.channels, input, d_output, d_input},
                   {shape.rows, 1, 1, shape.channels}, packets);
  });
}

template void gate(cudaStream_t, const Gated&, const float*, float*);
template void gate(cudaStream_t, const Gated&, const Half*, Half*);
template void gate_gradient(cudaStream_t, const Gated&, const float*, const float*, float*);
template void gate_gradient(cudaStream_t, const Gated&, const Half*, const Half*, Half*);

}  // namespace eave::cuda
