// The passes of batch normalisation over rows × channels values.
#pragma once

#include <cstdint>

namespace eave::cpu {

// Two sums per channel, in double. The caller lends 2 × channels doubles.
struct ChannelSums {
  double* first;
  double* second;
};

// Mean and biased variance of each channel. Sums are taken relative to the first row, so nothing cancels if the mean is
// much larger than the deviation.
void channel_moments(const float* input, std::int64_t rows, std::int64_t channels, ChannelSums sums, float* mean,
                     float* variance);

// output = input · factor + offset (+ skip), then max(·, 0) when relu. `skip` may be nullptr.
void normalise(const float* input, const float* skip, const float* factor, const float* offset, bool relu,
               std::int64_t rows, std::int64_t channels, float* output);

struct NormGradientSums {
  const float* input;
  const float* output;  // nullptr if there is no relu, or if `factor` describes it
  const float* more;    // nullptr: nothing is added
  const float* mean;
  const float* inverse_deviation;
  // If given, `output` must be nullptr: relu was applied to input · factor + offset of each channel, so its mask is
  // known without reading its output.
  const float* factor = nullptr;
  const float* offset = nullptr;
};
// d_output = d_output + more where output > 0, else 0. d_shift = Σ d_output and d_scale = Σ d_output · x̂ of each
// channel. With `factor` and without `more`, d_output stays unmasked in memory, and norm_input_gradient applies the
// mask.
void norm_gradient_sums(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, ChannelSums sums,
                        float* d_output, float* d_scale, float* d_shift);

struct NormInputGradient {
  const float* d_output;
  const float* input;
  const float* a;  // a, b and c: one value per channel
  const float* b;
  const float* c;
  const float* factor = nullptr;  // given with `offset`: d_output counts as 0 unless input · factor + offset > 0
  const float* offset = nullptr;
};
// d_input = a · d_output + b · input + c. d_input may be d_output.
void norm_input_gradient(const NormInputGradient& call, std::int64_t rows, std::int64_t channels, float* d_input);

}  // namespace eave::cpu
