// Models of text whose arrays have names in Hugging Face's GPT-2 and Llama, and in nanoGPT, which uses those of GPT-2.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nn/graph.h"
#include "nn/tensor_layout.h"

namespace eave {

// The numbers of a transformer as in GPT-2 or Llama, read from a model's text. Layers of dropout do not matter.
struct TransformerForm {
  bool is_llama = false;
  int layers = 0, width = 0, inner = 0;  // inner: channels between the two linear layers of a block's second half
  int heads = 0, groups = 0, head_width = 0;
  int positions = 0;                         // of GPT-2's table
  bool has_bias = false;                     // GPT-2's linear layers
  bool norm_has_bias = false;                // GPT-2's norms
  bool is_tied = false;                      // the output shares the table of the embedding
  bool is_approximate = false;               // GPT-2: gelu_tanh
  float epsilon = 0, base = 0, dropout = 0;  // base: of Llama's rotary positions
};

// Reads the form of a model's text. Throws Error(kConfiguration), which names the first layer that is not as in GPT-2
// or Llama:
//     embedding W positions P; residual(layer_norm; linear 3W; attention H; linear W); residual(layer_norm; linear N;
//     gelu|gelu_tanh; linear W); …; layer_norm; tied_output | linear classes no_bias
//     embedding W; residual(rms_norm; linear; rotary H groups G; attention H groups G; linear W); residual(rms_norm;
//     linear 2N; gated silu; linear W); …; rms_norm; tied_output | linear classes no_bias
// with no_bias in all linear layers of Llama, and in all or no linear layers of GPT-2.
TransformerForm read_form(const std::string& specification);

// The arrays of `graph`, whose model has this form, under the names of GPT2LMHeadModel and LlamaForCausalLM.
// `linear_turned`: weights of GPT-2's linear layers are [out, in], as in nanoGPT, and not [in, out].
std::vector<StoredTensor> huggingface_tensors(const Graph& graph, const TransformerForm& form, bool linear_turned);

// The arrays that GPT-2 has and this form lacks, which are zero: biases. Name and number of values.
std::vector<std::pair<std::string, std::int64_t>> huggingface_zeros(const TransformerForm& form);

// The name as huggingface_tensors gives it: GPT2Model leaves out "transformer.", torch.compile adds "_orig_mod.".
std::string huggingface_name(const std::string& name);
// Whether the array is no parameter: GPT-2's mask of attention, and Llama's frequencies.
bool is_huggingface_buffer(const std::string& name);
// The array by which files with these names are recognised: "transformer.wte.weight" or "model.embed_tokens.weight".
bool is_huggingface_table(const std::string& name);

}  // namespace eave
