// Models of text whose arrays have names in Hugging Face's GPT-2 and Llama, and in nanoGPT, which uses those of GPT-2.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nn/graph.h"
#include "nn/tensor_layout.h"
#include "nn/transformer_form.h"

namespace eave {

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
