// Reads the files of byte-level vocabularies: GPT-2's, and those of Hugging Face's tokenizers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eave/batch.h"

namespace eave {

using TokenNumbers = std::unordered_map<std::string, std::int32_t>;

// Tokens are written in GPT-2's alphabet, which has a visible character for each byte.
struct VocabularyText {
  TokenNumbers numbers;
  std::vector<std::pair<std::string, std::string>> merges;  // in the order of their ranks
  std::int32_t separator = kNoLabel;                        // the number of "<|endoftext|>"
};

inline constexpr std::int32_t kMostTokens = 1 << 24;  // batches hold tokens as floats

// All of these throw Error(kBadData), which begins with `name`, the path of the file.
// encoder.json or vocab.json: one object of names and numbers.
TokenNumbers parse_token_numbers(std::string_view json, const std::string& name);
// vocab.bpe or merges.txt: a pair on each line, behind a first line "#version: 0.2".
std::vector<std::pair<std::string, std::string>> parse_merges(std::string_view text, const std::string& name);
// tokenizer.json of a byte-level BPE that cuts words as GPT-2 does. Names what the file has instead.
VocabularyText parse_tokenizer_json(std::string_view json, const std::string& name);

// The character of a byte in GPT-2's alphabet, in UTF-8.
std::string letter_of_byte(std::uint8_t byte);

}  // namespace eave
