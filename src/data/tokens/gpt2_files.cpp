// Tells GPT-2's vocab.json and merges.txt from those of models that cut text in another way.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "data/tokens/vocabulary_json.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kClasses[] = {"GPT2Tokenizer", "GPT2TokenizerFast"};
// These use GPT-2's tokenizer. Llama and Mistral have no such two files of their own: eave's export wrote config.json,
// and somebody has put GPT-2's files beside it.
constexpr std::string_view kModels[] = {"gpt2", "gpt_neo", "gptj", "gpt_bigcode", "llama", "mistral"};

json settings_in(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) ? parse_large_json(read_vocabulary_file(file), file.string()) : json();
}

[[noreturn]] void refuse_two_files(const fs::path& file, const std::string& what) {
  throw Error(ExitCode::kBadData,
              file.string() + " " + what +
                  ", so these two files may give other tokens than GPT-2's: " + "use a tokenizer.json instead. " +
                  kWriteTokenizerJson + ". If the two files are GPT-2's, move them to a folder of their own");
}

// Whether the file names its tokenizer or model by `member`. Throws if that is not one of `known`.
bool names_one_of(std::span<const std::string_view> known, const json& settings, const char* of, const fs::path& file) {
  const json& named = member(settings, of);
  if (!named.is_string()) return false;
  const auto& name = named.get_ref<const std::string&>();
  if (std::ranges::find(known, name) == known.end()) refuse_two_files(file, "names " + printable(name.substr(0, 80)));
  return true;
}

// Tokens in brackets are special, and no text has them. Others, such as CodeGen's runs of spaces, are found in texts.
void require_no_added_tokens(const fs::path& file) {
  const json tokens = settings_in(file);
  for (const auto& [token, number] : tokens.items()) {
    if (!is_in_brackets(token)) refuse_two_files(file, "has " + quoted_token(token));
  }
}

// transformers adds these tokens to those of the two files, and finds them in texts unless they are special.
void require_special_tokens(const json& tokenizer, const fs::path& file) {
  for (const json& each : member(tokenizer, "added_tokens_decoder")) {
    const json& content = member(each, "content");
    const bool is_token = content.is_string() && !content.get_ref<const std::string&>().empty();
    if (is_token && !flag_in(each, "special", false, file.string()))
      refuse_two_files(file, "has " + quoted_token(content.get<std::string>()));
  }
}

}  // namespace

void require_gpt2_files(const fs::path& folder) {
  const fs::path tokenizer_file = folder / "tokenizer_config.json", model_file = folder / "config.json";
  const json tokenizer = settings_in(tokenizer_file), model = settings_in(model_file);
  for (const char* option : {"add_bos_token", "add_prefix_space"}) {
    if (flag_in(tokenizer, option, false, tokenizer_file.string()))
      refuse_two_files(tokenizer_file, "has " + std::string(option));
  }
  require_special_tokens(tokenizer, tokenizer_file);
  require_no_added_tokens(folder / "added_tokens.json");
  // As transformers looks for the class.
  if (names_one_of(kClasses, tokenizer, "tokenizer_class", tokenizer_file)) return;
  if (names_one_of(kClasses, model, "tokenizer_class", model_file)) return;
  names_one_of(kModels, model, "model_type", model_file);
}

}  // namespace eave
