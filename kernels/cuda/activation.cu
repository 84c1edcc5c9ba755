#include "kernels/cuda/activation.h"
#include "kernels/cuda/support/flat_pass.h"

namespace eave::cuda {
namespace {

template <class T, class Word>
struct ActivationPass {
  static constexpr int kWidth = kActivationWidth<T>;
  Word word;
  const T* input;
  T* output;

  int before_packet() const { return elements_before_packet(kWidth, input, output); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    auto value = load<kLanes>(input + i);
    for (int k = 0; k < kLanes; ++k) value.at[k] = word.forward(value.at[k]);
    store(output + i, value);
  }
};

template <class T, class Word>
struct ActivationGradientPass {
  static constexpr int kWidth = kActivationWidth<T>;
  Word word;
  const T* at;  // input or output
  const T* d_output;
  T* d_input;

  int before_packet() const { return elements_before_packet(kWidth, at, d_output, d_input); }

  template <int kLanes>
  __device__ void apply(std::int64_t i) const {
    const auto value = load<kLanes>(at + i);
    auto d = load<kLanes>(d_output + i);
    for (int k = 0; k < kLanes; ++k) d.at[k] = word.backward(value.at[k], d.at[k]);
    store(d_input + i, d);
  }
};

}  // namespace

template <class T>
void activation_forward(cudaStream_t stream, Elementwise word, float parameter, const T* input, T* output,
                        std::int64_t count) {
  const auto enqueue = [&](const char* name, auto expression) {
    enqueue_flat(name, stream, ActivationPass<T, decltype(expression)>{expression, input, output}, count);
  };
  switch (word) {
#define EAVE_CASE(word, Word) \
  case Elementwise::k##Word:  \
    return enqueue(#word "_forward", elementwise::make_word<elementwise::Word>(parameter));
    EAVE_EACH_ELEMENTWISE(EAVE_CASE)
#undef EAVE_CASE
  }
}

template <class T>
void activation_backward(cudaStream_t stream, Elementwise word, float parameter, const T* input, const T* output,
                         const T* d_output, T* d_input, std::int64_t count) {
  const auto enqueue = [&](const char* name, auto expression) {
    using Word = decltype(expression);
    const T* at = Word::kBackwardReadsOutput ? output : input;
    enqueue_flat(name, stream, ActivationGradientPass<T, Word>{expression, at, d_output, d_input}, count);
  };
  switch (word) {
#define EAVE_CASE(word, Word) \
  case Elementwise::k##Word:  \
    return enqueue(#word "_backward", elementwise::make_word<elementwise::Word>(parameter));
    EAVE_EACH_ELEMENTWISE(EAVE_CASE)
#undef EAVE_CASE
  }
}

template void activation_forward(cudaStream_t, Elementwise, float, const float*, float*, std::int64_t);
template void activation_forward(cudaStream_t, Elementwise, float, const Half*, Half*, std::int64_t);
template void activation_backward(cudaStream_t, Elementwise, float, const float*, const float*, const float*, float*,
                                  std::int64_t);
template void activation_backward(cudaStream_t, Elementwise, float, const Half*, const Half*, const Half*, Half*,
                                  std::int64_t);

}  // namespace eave::cuda
