#include "kernels/cpu/activation.h"

#include "kernels/cpu/multiversion.h"

// Macros, because functions made from templates cannot have versions.
namespace eave::cpu {
namespace {

#define EAVE_DEFINE_PASSES(word, Word)                                                                         \
  EAVE_MULTIVERSION void word##_forward(elementwise::Word expression, const float* input, float* output,       \
                                        std::int64_t count) {                                                  \
    for (std::int64_t i = 0; i < count; ++i) output[i] = expression.forward(input[i]);                         \
  }                                                                                                            \
  EAVE_MULTIVERSION void word##_backward(elementwise::Word expression, const float* at, const float* d_output, \
                                         float* d_input, std::int64_t count) {                                 \
    for (std::int64_t i = 0; i < count; ++i) d_input[i] = expression.backward(at[i], d_output[i]);             \
  }
EAVE_EACH_ELEMENTWISE(EAVE_DEFINE_PASSES)
#undef EAVE_DEFINE_PASSES

}  // namespace

void activation_forward(Elementwise word, float parameter, const float* input, float* output, std::int64_t count) {
  switch (word) {
#define EAVE_CASE(word, Word) \
  case Elementwise::k##Word:  \
    return word##_forward(elementwise::make_word<elementwise::Word>(parameter), input, output, count);
    EAVE_EACH_ELEMENTWISE(EAVE_CASE)
#undef EAVE_CASE
  }
}

void activation_backward(Elementwise word, float parameter, const float* input, const float* output,
                         const float* d_output, float* d_input, std::int64_t count) {
  switch (word) {
#define EAVE_CASE(word, Word)                                                    \
  case Elementwise::k##Word:                                                     \
    return word##_backward(elementwise::make_word<elementwise::Word>(parameter), \
                           elementwise::Word::kBackwardReadsOutput ? output : input, d_output, d_input, count);
    EAVE_EACH_ELEMENTWISE(EAVE_CASE)
#undef EAVE_CASE
  }
}

}  // namespace eave::cpu
