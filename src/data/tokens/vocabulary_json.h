// Functions that the readers of vocabularies' JSON share.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokens/tokenizer_json.h"

namespace eave {

// For messages: how to get a file that eave reads.
inline constexpr const char* kWriteTokenizerJson =
    "AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER) of Hugging Face's transformers writes a "
    "tokenizer.json";

// Throws Error(kBadData): the file is damaged.
[[noreturn]] void refuse_vocabulary(const std::string& name, const std::string& what);

// Throws Error(kBadData): the file is of a kind that eave does not read, because of `what` it has.
[[noreturn]] void refuse_kind(const std::string& name, const std::string& what);

// For messages: in quotes, printable and cut to 80 bytes.
std::string quoted_token(const std::string& token);

// As special tokens are: <|endoftext|> or [PAD].
bool is_in_brackets(std::string_view token);

// Parses JSON in which no object has a name twice. The strict parser of base does not take as many names.
nlohmann::json parse_large_json(std::string_view text, const std::string& name);

// null if an object has no such member, or is no object.
const nlohmann::json& member(const nlohmann::json& object, const char* name);

// "BPE"; "none" if there is none; "of an unknown type" if it has no such text.
std::string type_of(const nlohmann::json& part);

// A member that is true or false, or is not there.
bool flag_in(const nlohmann::json& part, const char* option, bool by_default, const std::string& name);

// An object of tokens and their numbers, each below kMostTokens and of one token.
TokenNumbers numbers_in(const nlohmann::json& object, const std::string& name);

// A list of merges: "a b", or ["a", "b"].
std::vector<std::pair<std::string, std::string>> merges_in(const nlohmann::json& list, const std::string& name);

// The parts of something that may be of type Sequence, whose list is the member `list`.
std::vector<const nlohmann::json*> parts_of(const nlohmann::json& whole, const char* list, const std::string& name);

// Finds out from the normalizer, the pre_tokenizer and the options of the model which kind a tokenizer.json is of. Sets
// all of `text` but tokens and merges. Throws Error(kBadData).
void read_kind(const nlohmann::json& tokenizer, const std::string& name, TokenizerText& text);

}  // namespace eave
