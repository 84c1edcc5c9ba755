// Transformers as in GPT-2 and Llama: their numbers, and the texts of models with these numbers.
#pragma once

#include <string>

#include "device/operations.h"

namespace eave {

// Which linear layers of each block have a bias. In GPT-2 all or none have one, in Qwen2 only `rows`.
struct LinearBiases {
  bool rows = false;   // the layer that gives queries, keys and values
  bool mixed = false;  // the layer behind attention
  bool dense = false;  // both layers of the block's second half
  bool operator==(const LinearBiases&) const = default;
};

// The numbers of a transformer as in GPT-2, or in Llama and those with its layers (Mistral, Qwen2).
struct TransformerForm {
  bool is_llama = false;
  int layers = 0, width = 0, inner = 0;  // inner: channels between the two linear layers of a block's second half
  int heads = 0, groups = 0, head_width = 0;
  int positions = 0;  // of GPT-2's table
  LinearBiases biases;
  bool norm_has_bias = false;   // GPT-2's norms
  bool is_tied = false;         // the output shares the table of the embedding
  bool is_approximate = false;  // GPT-2: gelu_tanh
  float epsilon = 0;
  RotaryAngles angles;          // of Llama's rotary positions
  float embedding_dropout = 0;  // after the embedding
  float attention_dropout = 0;  // of attention's weights
  float branch_dropout = 0;     // at the end of each residual branch
};

// Reads the form of a model's text. Throws Error(kConfiguration), which names the first layer that is not as in GPT-2
// or Llama:
//     embedding W positions P; repeat L (residual(layer_norm; linear 3W; attention H; linear W); residual(layer_norm;
//     linear N; gelu|gelu_tanh; linear W)); layer_norm; tied_output | linear classes no_bias
//     embedding W; repeat L (residual(rms_norm; linear; rotary H groups G; attention H groups G; linear W);
//     residual(rms_norm; linear 2N; gated silu; linear W)); rms_norm; tied_output | linear classes no_bias
// with no_bias in all or no linear layers of GPT-2. Layers of dropout may stand anywhere; if those of one kind differ,
// the form has the first rate.
TransformerForm read_form(const std::string& specification);

// Deviations of the normal distributions from which embeddings and linear layers get their first weights.
struct InitialDeviations {
  double usual = 0.02;
  double branch = 0.02;  // of layers that write into the residual stream
};
// As in GPT-2 (Radford et al. 2019, section 2.3): `usual` / √(number of layers that write into the residual stream).
double scaled_branch_deviation(double usual, int layers);

// The text of a model of this form, which read_form reads. `form.groups` may equal `form.heads`.
std::string model_text(const TransformerForm& form, const InitialDeviations& weights);

}  // namespace eave
