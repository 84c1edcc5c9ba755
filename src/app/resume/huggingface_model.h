// Reads weights with Hugging Face's names for GPT-2 and Llama, and writes what from_pretrained of transformers needs.
//
// The classes are GPT2LMHeadModel and LlamaForCausalLM of transformers. test/addons/run language_models compares their
// logits with eave's, in both directions.
#pragma once

#include <string>
#include <vector>

#include "base/formats/safetensors.h"
#include "nn/huggingface.h"

namespace eave {

// Whether the arrays of the file have Hugging Face's names, or nanoGPT's.
bool is_of_huggingface(const SafetensorsFile& file);

// The arrays of a file, as a model of text reads them.
struct HuggingfaceArrays {
  SafetensorsFile file;  // the path, the metadata, and views of the other file's arrays
  std::vector<StoredTensor> tensors;
};

// Prepares to read the arrays into the model of `graph`: gives them whole names, decides whether GPT-2's weights are
// [in, out] or, as nanoGPT's, [out, in], and leaves out arrays that hold no parameter. If the model shares the table of
// its embedding, lm_head.weight must equal it. Biases that the model lacks must be 0. If a config.json of transformers
// lies beside the file, its numbers must be the model's. `file` must outlive the result.
// Throws Error(kConfiguration), which ends with `remedy`: the model has another form, or one of these does not hold.
HuggingfaceArrays huggingface_arrays(const SafetensorsFile& file, const Graph& graph, const std::string& remedy);

// The text of config.json for a model of this form with `classes` tokens, trained on windows of `context` tokens. It
// names no special tokens, because it knows no vocabulary.
std::string huggingface_config(const TransformerForm& form, int classes, int context);

// Compares the config.json in the file's folder, if transformers wrote it, with the form. Arrays do not show these
// numbers: heads, activation, epsilon, base of rotary positions. Throws Error(kConfiguration), or kBadData if the file
// is no JSON.
void check_huggingface_config(const std::string& file, const TransformerForm& form, const std::string& remedy);

}  // namespace eave
