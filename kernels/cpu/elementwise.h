// Elementwise passes over activations, which are bound by memory.
#pragma once

#include <cstdint>

namespace eave::cpu {

void add(const float* a, const float* b, float* sum, std::int64_t count);
void add_to_both(float* a, float* b, std::int64_t count);  // both become a + b; they must not overlap
void fill(float* values, float value, std::int64_t count);

// In place on rows × columns values: adds the bias (nullptr: none), then max(·, 0) if `relu`.
void add_bias(float* values, const float* bias, bool relu, std::int64_t rows, std::int64_t columns);
// The gradient of add_bias. d_output becomes 0 where `output` is not positive; with nullptr there was no relu. d_bias
// gets the sums of the columns; nullptr: not wanted. Groups of rows are summed first, so the error does not grow with
// the number of rows.
void add_bias_gradient(const float* output, float* d_output, float* d_bias, std::int64_t rows, std::int64_t columns);

}  // namespace eave::cpu
