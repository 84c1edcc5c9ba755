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
  const float* output;  // nullptr: no relu, or that of a factor
  const float* more;    // nullptr: nothing to add
  const float* mean;
  const float* inverse_deviation;
  // Given, without `output`: relu was applied to input · factor + offset of each channel, so what it let pass is known
  // without reading its output.
  const float* factor = nullptr;
  const float* offset = nullptr;
};
// d_output = (d_output + more) where output > 0, else 0. d_shift = Σ d_output, d_scale = Σ d_output · x̂ of each
// channel. With `factor` and without `more` d_output stays as it is, and norm_input_gradient leaves out what relu does.
void norm_gradient_sums(const NormGradientSums& call, std::int64_t rows, std::int64_t channels, ChannelSums sums,
                        float* d_output, float* d_scale, float* d_shift);

struct NormInputGradient {
  const float* d_output;
  const float* input;
  const float* a;  // of each channel, as b and c
  const float* b;
  const float* c;
  const float* factor = nullptr;  // with `offset`: d_output counts where input · factor + offset > 0, else as 0
  const float* offset = nullptr;
};
// d_input = a · d_output + b · input + c. d_input may be d_output.
void norm_input_gradient(const NormInputGradient& call, std::int64_t rows, std::int64_t channels, float* d_input);

}  // namespace eave::cpu
