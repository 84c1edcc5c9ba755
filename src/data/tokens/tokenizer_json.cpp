#include "data/tokens/tokenizer_json.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/printable.h"
#include "data/tokens/vocabulary_json.h"
#include "eave/check.h"

namespace eave {
namespace {

using nlohmann::json;

constexpr const char* kEndOfText = "<|endoftext|>";
// Names of the token behind a document, if the file has no template that says it.
constexpr const char* kEnds[] = {"<|end_of_text|>", "</s>", "<eos>", "<｜end▁of▁sentence｜>"};

std::pair<std::string, std::int32_t> added_token_in(const json& entry, const std::string& name) {
  const json &content = member(entry, "content"), &id = member(entry, "id");
  if (!content.is_string() || !id.is_number_unsigned() || id.get<std::uint64_t>() >= kMostTokens)
    refuse_vocabulary(name, ": an entry of added_tokens has no text and number");
  return {content.get<std::string>(), id.get<std::int32_t>()};
}

// tokenizers does not take the number that the file gives to an added token that the model lacks. It counts on from the
// size of the model's vocabulary, which is not the largest number of one that has gaps.
void require_next_number(std::int32_t number, std::size_t next, const std::string& token, const std::string& name) {
  if (static_cast<std::size_t>(number) == next) return;
  throw Error(ExitCode::kBadData, name + ": its added token " + quoted_token(token) + " has the number " +
                                      std::to_string(number) + ", but tokenizers 0.23 gives it " +
                                      std::to_string(next) +
                                      ": let tokenizers write the file again, Tokenizer.from_file(FILE).save(FILE), " +
                                      "or name another with --vocabulary");
}

TokenNumbers added_tokens_in(const json& added, const std::string& name, const TokenNumbers& numbers) {
  std::set<std::int32_t> taken;
  for (const auto& [token, number] : numbers) taken.insert(number);
  TokenNumbers more;
  for (const json& each : added) {
    const auto [token, number] = added_token_in(each, name);
    if (token.empty()) continue;  // tokenizers passes over it
    const auto known = numbers.find(token);
    const bool is_new = known == numbers.end() && more.emplace(token, number).second;
    if ((known == numbers.end() ? more.at(token) : known->second) != number)
      refuse_vocabulary(name, " gives two numbers to the token " + quoted_token(token));
    if (is_new && !taken.insert(number).second) {
      refuse_vocabulary(
          name, " gives the number " + std::to_string(number) + " to two tokens, one of them " + quoted_token(token));
    }
    if (is_new) require_next_number(number, numbers.size() + more.size() - 1, token, name);
  }
  return more;
}

// The token before it may have taken it away.
bool is_white_space_and_strips_left(const AddedToken& token) {
  return !token.is_special && token.strips_left && is_white_space(token.content);
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

// Tokens that the post-processor puts before a text and behind it.
struct Around {
  struct Token {
    std::string text;
    json number;  // null if the file gives none
  };
  std::vector<Token> before, behind;
  bool is_pair = false;  // of RobertaProcessing or BertProcessing
};

void add_template(const json& part, Around& around) {
  bool is_behind = false;
  for (const json& each : member(part, "single")) {
    const json& special = member(member(each, "SpecialToken"), "id");
    if (special.is_string()) {
      const auto text = special.get<std::string>();
      const json& numbers = member(member(member(part, "special_tokens"), text.c_str()), "ids");
      const bool is_one = numbers.is_array() && numbers.size() == 1;
      (is_behind ? around.behind : around.before).push_back({text, is_one ? numbers[0] : numbers});
    }
    is_behind = is_behind || !member(each, "Sequence").is_null();
  }
}

// Adds the tokens of RobertaProcessing or BertProcessing. Each of the two is a list of its text and its number.
void add_pair(const json& part, const std::string& name, Around& around) {
  for (const auto& [side, tokens] : {std::pair("cls", &around.before), std::pair("sep", &around.behind)}) {
    const json& token = member(part, side);
    if (!token.is_array() || token.empty() || !token[0].is_string())
      refuse_vocabulary(name, ": its post_processor has no " + std::string(side));
    tokens->push_back({token[0].get<std::string>(), token.size() > 1 ? token[1] : json()});
  }
  around.is_pair = true;
}

Around around_text(const json& post_processor, const std::string& name) {
  Around around;
  for (const json* part : parts_of(post_processor, "processors", name)) {
    const std::string type = type_of(*part);
    if (type == "TemplateProcessing") add_template(*part, around);
    if (type == "RobertaProcessing" || type == "BertProcessing") add_pair(*part, name, around);
  }
  return around;
}

std::int32_t only_token(const std::vector<Around::Token>& tokens, const char* side, const std::string& name,
                        const TokenizerText& text) {
  if (tokens.empty()) return kNoLabel;
  if (tokens.size() > 1)
    refuse_vocabulary(name, ": its post_processor puts " + quoted_token(tokens[0].text) + " and " +
                                quoted_token(tokens[1].text) + " " + side +
                                " a text, and eave puts only one token there; remove all but one of them");
  const Around::Token& token = tokens[0];
  const std::int32_t number = number_of(text, token.text);
  if (number == kNoLabel)
    refuse_vocabulary(name, ": its post_processor names the token " + quoted_token(token.text) + ", which it lacks");
  // tokenizers takes the number of the post-processor.
  if (!token.number.is_null() && token.number != number)
    refuse_vocabulary(name, ": its post_processor gives the token " + quoted_token(token.text) + " the number " +
                                printable(token.number.dump().substr(0, 80)) + " instead of " + std::to_string(number));
  return number;
}

// The tokens around a document are those that the post-processor puts around a text, if it puts one there; else, behind
// it, a special token with a usual name. GPT-2's own file has <|endoftext|>.
void find_ends(const json& tokenizer, const std::string& name, TokenizerText& text) {
  const Around around = around_text(member(tokenizer, "post_processor"), name);
  text.opening = only_token(around.before, "before", name, text);
  text.separator = only_token(around.behind, "behind", name, text);
  const bool is_gpt2 = text.kind == TokenizerText::Kind::kGpt2, has_any = text.opening >= 0 || text.separator >= 0;
  if (around.is_pair || (is_gpt2 && has_any)) text.newly_read += " tokens around a text";
  if (text.separator == kNoLabel) text.separator = number_of(text, kEndOfText);
  if (is_gpt2) return;
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
    refuse_vocabulary(name, std::string(" is no tokenizer.json: it has no model. ") + kWriteTokenizerJson);
  TokenizerText text;
  read_kind(tokenizer, name, text);
  const json& model = member(tokenizer, "model");
  text.numbers = numbers_in(member(model, "vocab"), name);
  text.merges = merges_in(member(model, "merges"), name);
  text.added = added_tokens_in(member(tokenizer, "added_tokens"), name, text.numbers);
  text.added_tokens = flags_of_added_tokens(member(tokenizer, "added_tokens"), name);
  if (std::ranges::any_of(text.added_tokens, [](const AddedToken& token) { return !token.is_special; }))
    text.newly_read += " added tokens in texts";
  if (std::ranges::any_of(text.added_tokens, is_white_space_and_strips_left))
    text.newly_read += " white space that is a token";
  find_ends(tokenizer, name, text);
  if (text.kind == TokenizerText::Kind::kCharacters && !text.falls_back)
    text.unknown = unknown_token(model, name, text.numbers);
  return text;
}

}  // namespace eave
