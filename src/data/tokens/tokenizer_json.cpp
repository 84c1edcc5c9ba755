#include "data/tokens/tokenizer_json.h"

#include <algorithm>
#include <set>
#include <utility>

#include "data/tokens/vocabulary_json.h"

namespace eave {
namespace {

using nlohmann::json;

constexpr const char* kEndOfText = "<|endoftext|>";
// Names of the token behind a document, if the file has no template that says it.
constexpr const char* kEnds[] = {"<|end_of_text|>", "</s>", "<eos>", "<｜end▁of▁sentence｜>"};

TokenNumbers added_tokens_in(const json& added, const std::string& name, const TokenNumbers& numbers) {
  std::set<std::int32_t> taken;
  for (const auto& [token, number] : numbers) taken.insert(number);
  TokenNumbers more;
  for (const json& each : added) {
    const json &content = member(each, "content"), &id = member(each, "id");
    if (!content.is_string() || !id.is_number_unsigned() || id.get<std::uint64_t>() >= kMostTokens)
      refuse_vocabulary(name, ": an entry of added_tokens has no text and number");
    const auto number = id.get<std::int32_t>();
    const auto known = numbers.find(content.get<std::string>());
    const bool is_new = known == numbers.end() && more.emplace(content.get<std::string>(), number).second;
    if ((known == numbers.end() ? more.at(content.get<std::string>()) : known->second) != number)
      refuse_vocabulary(name, " gives two numbers to the token " + quoted_token(content.get<std::string>()));
    if (is_new && !taken.insert(number).second) {
      refuse_vocabulary(name, " gives the number " + std::to_string(number) + " to two tokens, one of them " +
                                  quoted_token(content.get<std::string>()));
    }
  }
  return more;
}

std::vector<AddedToken> flags_of_added_tokens(const json& added, const std::string& name) {
  std::vector<AddedToken> tokens;
  for (const json& each : added) {
    tokens.push_back({.content = member(each, "content").get<std::string>(),
                      .number = member(each, "id").get<std::int32_t>(),
                      .is_special = flag_in(each, "special", true, name),
                      .is_normalized = flag_in(each, "normalized", false, name),
                      .is_single_word = flag_in(each, "single_word", false, name),
                      .strips_left = flag_in(each, "lstrip", false, name),
                      .strips_right = flag_in(each, "rstrip", false, name)});
  }
  return tokens;
}

std::int32_t number_of(const VocabularyText& text, const std::string& token) {
  for (const TokenNumbers* numbers : {&text.added, &text.numbers}) {
    if (const auto found = numbers->find(token); found != numbers->end()) return found->second;
  }
  return kNoLabel;
}

// A template's special tokens before the text and behind it.
struct Around {
  std::vector<std::string> before, behind;
};

Around template_around(const json& post_processor, const std::string& name) {
  Around around;
  for (const json* part : parts_of(post_processor, "processors", name)) {
    bool is_behind = false;
    if (type_of(*part) != "TemplateProcessing") continue;
    for (const json& each : member(*part, "single")) {
      const json& special = member(member(each, "SpecialToken"), "id");
      if (special.is_string()) (is_behind ? around.behind : around.before).push_back(special.get<std::string>());
      is_behind = is_behind || !member(each, "Sequence").is_null();
    }
  }
  return around;
}

// The tokens around a document are those that the template puts around a text, if it puts one there; else, behind it, a
// special token with a usual name.
void find_ends(const json& tokenizer, const std::string& name, TokenizerText& text) {
  const Around around = template_around(member(tokenizer, "post_processor"), name);
  if (around.before.size() == 1) text.opening = number_of(text, around.before[0]);
  if (around.behind.size() == 1) text.separator = number_of(text, around.behind[0]);
  if (text.separator == kNoLabel) text.separator = number_of(text, kEndOfText);
  for (const char* end : kEnds) {
    for (const json& each : member(tokenizer, "added_tokens")) {
      if (text.separator == kNoLabel && member(each, "content") == end && member(each, "special") == true)
        text.separator = number_of(text, end);
    }
  }
}

// The token of characters that are not in the vocabulary, without which they would be lost.
std::int32_t unknown_token(const json& model, const std::string& name, const TokenNumbers& numbers) {
  const json& unknown = member(model, "unk_token");
  if (!unknown.is_string()) refuse_kind(name, "its model has neither byte_fallback nor unk_token");
  const auto found = numbers.find(unknown.get<std::string>());
  if (found != numbers.end()) return found->second;
  refuse_vocabulary(name, " has no token " + quoted_token(unknown.get<std::string>()) + ", its unk_token");
}

}  // namespace

TokenizerText parse_tokenizer_json(std::string_view content, const std::string& name) {
  const json tokenizer = parse_large_json(content, name);
  if (!tokenizer.is_object() || !tokenizer.contains("model"))
    refuse_vocabulary(name, " is no tokenizer.json: it has no model");
  TokenizerText text;
  read_kind(tokenizer, name, text);
  const json& model = member(tokenizer, "model");
  text.numbers = numbers_in(member(model, "vocab"), name);
  text.merges = merges_in(member(model, "merges"), name);
  text.added = added_tokens_in(member(tokenizer, "added_tokens"), name, text.numbers);
  text.added_tokens = flags_of_added_tokens(member(tokenizer, "added_tokens"), name);
  if (std::ranges::any_of(text.added_tokens, [](const AddedToken& token) { return !token.is_special; }))
    text.newly_read += " added tokens in texts";
  if (text.kind == TokenizerText::Kind::kGpt2) {
    text.separator = number_of(text, kEndOfText);
  } else {
    find_ends(tokenizer, name, text);
  }
  if (text.kind == TokenizerText::Kind::kCharacters && !text.falls_back)
    text.unknown = unknown_token(model, name, text.numbers);
  return text;
}

}  // namespace eave
