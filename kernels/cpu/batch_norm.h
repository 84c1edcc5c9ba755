// The passes of batch normalisation over rows × channels values.
#pragma once

#include <cstdint>

namespace eave::cpu {

// Two sums per channel, in double; the caller lends 2 × channels.
struct ChannelSums {
  double* first;
  double* second;
};

// Mean and biased variance of each channel. Sums are taken relative to the first row: no cancellation where the mean is
// much larger than the deviation.
void channel_moments(const float* input, std::int64_t rows, std::int64_t channels, ChannelSums sums, float* mean,
                     float* variance);

// output = input · factor + offset (+ skip), then max(·, 0) when relu. `skip` may be nullptr.
void normalise(const float* input, const float* skip, const float* factor, const float* offset, bool relu,
               std::int64_t rows, std::int64_t channels, float* output);

struct NormGradientSums {
  const float* input;
  const float* output;  // nullptr: no relu
  const float* more;    // nullptr: nothing to add
  const float* mean;
  const float* inverse_deviation;
};
// d_output = (d_output + more) where output > 0, else 0. d_shift = Σ d_output, d_scale = Σ d_output · x̂ of each
// channel.
void norm_gradient_sums(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, ChannelSums sums,
                        float* d_output, float* d_scale, float* d_shift);

// d_input = a · d_output + b · input + c, with a, b, c of each channel.
void norm_input_gradient(const float* d_output, const float* input, const float* a, const float* b, const float* c,
                         std::int64_t rows, std::int64_t channels, float* d_input);

}  // namespace eave::cpu
