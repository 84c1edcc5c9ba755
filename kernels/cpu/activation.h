// The words of kernels/elementwise over arrays.
#pragma once

#include <cstdint>

#include "kernels/elementwise/words.h"

namespace eave::cpu {

// output may be input.
void activation_forward(Elementwise word, float parameter, const float* input, float* output, std::int64_t count);
// Reads either input or output, as kBackwardReadsOutput of the word says; the other may be nullptr. d_input may be
// d_output.
void activation_backward(Elementwise word, float parameter, const float* input, const float* output,
                         const float* d_output, float* d_input, std::int64_t count);

}  // namespace eave::cpu
