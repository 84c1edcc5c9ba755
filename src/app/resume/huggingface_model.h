// Models of Hugging Face's transformers: reads their weights and their config.json, which it also writes for
// from_pretrained, and compares with a model.
//
// The classes are GPT2LMHeadModel and LlamaForCausalLM of transformers. test/addons/run language_models compares their
// logits with eave's, in both directions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/resume/model_file.h"
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

// The text of config.json for a model of this form with `classes` tokens, trained on windows of `context` tokens. Its
// max_position_embeddings is `context`, or original_max_position_embeddings if that is more. It names no special
// tokens, because it knows no vocabulary.
std::string huggingface_config(const TransformerForm& form, int classes, int context);

// The model of a config.json of GPT2LMHeadModel or LlamaForCausalLM, with the values of transformers for entries that
// are not there, also for first weights. Throws Error: kInputMissing (no file), kBadData (it is no JSON, or not of
// transformers, or a number is out of range), kConfiguration (another class, or something for which eave has no layer).
struct HuggingfaceConfig {
  TransformerForm form;
  InitialDeviations weights;
  int classes = 0, context = 0;  // tokens of the vocabulary, and of the longest text
};
HuggingfaceConfig read_huggingface_config(const std::filesystem::path& path);

// The model whose weights are `file`, by the config.json beside it. Throws as read_huggingface_config.
ModelDescription describe_huggingface_model(const std::filesystem::path& file);

// The longest text, in tokens, for which a model of rotary positions was made: the file's own longest_text, else
// max_position_embeddings of the config.json beside Hugging Face's arrays. 0 if neither is there. Throws as
// read_huggingface_config.
int longest_text_of(const SafetensorsFile& file);

// Whether `folder` has a config.json that transformers wrote. Does not throw if it cannot be read.
bool is_folder_of_transformers(const std::filesystem::path& folder);

// The value of --model: if it is the path of a folder or a config.json, the text of the model that this describes, else
// `name_or_text`. A name of model_names() is never a path. Throws as read_huggingface_config, and Error(kInputMissing)
// if a path has no folder.
std::string model_text_of_option(const std::string& name_or_text);

// Compares the config.json in the file's folder, if transformers wrote it, with the form. Arrays do not show these
// numbers: heads, activation, epsilon, base of rotary positions. Throws Error(kConfiguration), which ends with
// `remedy`; and as read_huggingface_config if there is a file.
void check_huggingface_config(const std::string& file, const TransformerForm& form, const std::string& remedy);

}  // namespace eave
