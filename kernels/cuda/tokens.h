// The passes of layers that work on windows of tokens, each in the file of its name; the twins of kernels/cpu/tokens.h.
// T is float or Half. Arithmetic is in float. Sums have a fixed order and use no atomics, so equal inputs give equal
// bits. All arrays lie in device memory. The loss of tokens is softmax_cross_entropy of kernels/cuda/layers.h.
#pragma once

#include "kernels/cpu/tokens.h"
#include "kernels/cuda/support/half.h"
#include "kernels/elementwise/words.h"

namespace eave::cuda {

// Tables of vectors. The tables and their gradients are float, and so are the tokens: bfloat16 cannot count above 256.

using cpu::Embedding;

// output[sample, position] = table[token] + place_table[position]; place_table is nullptr if there is none.
template <class T>
void embed(cudaStream_t stream, const Embedding& shape, const float* tokens, const float* table,
           const float* place_table, T* output);
std::int64_t embed_gradient_scratch(const Embedding& shape);  // bytes, aligned to 8
// Adds each row of d_output to its token's row of d_table, in the order of the rows: for float the bits are the CPU's.
// If not `adds`, d_table is cleared first. d_places gets the sums over samples, and 0 in rows that no position uses;
// nullptr if there is no such table.
template <class T>
void embed_gradient(cudaStream_t stream, const Embedding& shape, const float* tokens, const T* d_output, bool adds,
                    float* d_table, float* d_places, void* scratch);

// Layer norm, and RMS norm if not `centred`.

using cpu::RowNorm;

// `shift` is nullptr if there is none. moments: of each row the mean (0 if not centred) and 1/deviation; nullptr if not
// wanted.
template <class T>
void row_norm(cudaStream_t stream, const RowNorm& norm, const T* input, const float* scale, const float* shift,
              T* output, float* moments);
std::int64_t row_norm_scratch(const RowNorm& norm);  // doubles
// d_input, d_shift: nullptr if not wanted.
template <class T>
void row_norm_gradient(cudaStream_t stream, const RowNorm& norm, const T* input, const float* scale,
                       const float* moments, const T* d_output, T* d_input, float* d_scale, float* d_shift,
                       double* scratch);

// Rotary positions. For float the bits are the CPU's.

using cpu::Rotary;

// turns: positions × width / 2 cosines, then as many sines. With `back` it turns the other way, as gradients do.
template <class T>
void rotate(cudaStream_t stream, const Rotary& rotary, const float* turns, bool back, const T* input, T* output);

// output = word(first half of a row of the input) × second half. For float the bits are the CPU's.

struct Gated {
  Elementwise word{};  // without parameter
  std::int64_t rows = 0;
  int channels = 0;  // of the output
};

template <class T>
void gate(cudaStream_t stream, const Gated& shape, const T* input, T* output);
template <class T>
void gate_gradient(cudaStream_t stream, const Gated& shape, const T* input, const T* d_output, T* d_input);

}  // namespace eave::cuda
