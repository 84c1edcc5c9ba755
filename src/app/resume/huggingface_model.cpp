#include "app/resume/huggingface_model.h"

#include <algorithm>
#include <map>
#include <set>

#include "eave/check.h"

namespace eave {
namespace {

const NamedArray* find_array(const SafetensorsFile& file, const std::string& name) {
  const auto found = std::ranges::find(file.arrays, name, &NamedArray::name);
  return found == file.arrays.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_arrays(const SafetensorsFile& file, const std::string& why, const std::string& remedy) {
  throw Error(ExitCode::kConfiguration, file.path + ": " + why + "; " + remedy);
}

// nanoGPT's linear layers have weights [out, in]. The rows that attention reads are three times as long as its inputs.
bool is_turned(const SafetensorsFile& file, const TransformerForm& form) {
  const NamedArray* const rows = find_array(file, "transformer.h.0.attn.c_attn.weight");
  return rows != nullptr && rows->shape == std::vector<std::int64_t>{3 * std::int64_t{form.width}, form.width};
}

void leave_out_shared_output(SafetensorsFile& file, const TransformerForm& form, const std::string& remedy) {
  const NamedArray* const output = find_array(file, "lm_head.weight");
  if (!form.is_tied || output == nullptr) return;
  const NamedArray* const table =
      find_array(file, form.is_llama ? "model.embed_tokens.weight" : "transformer.wte.weight");
  if (table == nullptr || !std::ranges::equal(table->values, output->values)) {
    refuse_arrays(file,
                  "its output lm_head.weight is no copy of the table of its embedding, which the model's tied_output "
                  "uses; end the model's text with \"linear classes no_bias\"",
                  remedy);
  }
  std::erase_if(file.arrays, [](const NamedArray& array) { return array.name == "lm_head.weight"; });
}

void leave_out_zeros(SafetensorsFile& file, const TransformerForm& form, const std::string& remedy) {
  std::set<std::string> missing;
  for (const auto& [name, size] : huggingface_zeros(form)) missing.insert(name);
  for (const NamedArray& array : file.arrays) {
    if (missing.contains(array.name) && std::ranges::any_of(array.values, [](float value) { return value != 0; }))
      refuse_arrays(file, "the array '" + array.name + "' is not 0, but the model has no bias there (no_bias)", remedy);
  }
  std::erase_if(file.arrays, [&](const NamedArray& array) { return missing.contains(array.name); });
}

// The arrays under their whole names, without those that hold no parameter. Refuses two that would get one name.
SafetensorsFile with_whole_names(const SafetensorsFile& file) {
  std::map<std::string, std::string> names;  // those in the file, by whole names
  const auto whole_name = [&](const std::string& name) {
    const auto [entry, is_new] = names.emplace(huggingface_name(name), name);
    if (is_new) return entry->first;
    refuse_arrays(file, "holds '" + entry->second + "' and '" + name + "', which are the same array of the model",
                  "save the model again, with each array under one name");
  };
  SafetensorsFile found;
  found.path = file.path;
  found.metadata = file.metadata;
  for (const auto& [name, type] : file.types_left_out) {
    if (!is_huggingface_buffer(name)) found.types_left_out[whole_name(name)] = type;
  }
  for (const NamedArray& array : file.arrays) {
    if (!is_huggingface_buffer(array.name)) found.arrays.push_back({whole_name(array.name), array.shape, array.values});
  }
  return found;
}

}  // namespace

bool is_of_huggingface(const SafetensorsFile& file) {
  return std::ranges::any_of(file.arrays, is_huggingface_table, &NamedArray::name) ||
         std::ranges::any_of(file.types_left_out, [](const auto& each) { return is_huggingface_table(each.first); });
}

HuggingfaceArrays huggingface_arrays(const SafetensorsFile& file, const Graph& graph, const std::string& remedy) {
  TransformerForm form;
  try {
    form = read_form(graph.specification);
  } catch (const Error& error) {
    refuse_arrays(file, std::string("its arrays have the names of GPT-2 or Llama, but ") + error.what(), remedy);
  }
  check_huggingface_config(file.path, form, remedy);
  HuggingfaceArrays found{with_whole_names(file), {}};
  leave_out_shared_output(found.file, form, remedy);
  leave_out_zeros(found.file, form, remedy);
  found.tensors = huggingface_tensors(graph, form, is_turned(found.file, form));
  return found;
}

}  // namespace eave
