// Reads the files of GPT-2's vocabulary: numbers of tokens, and merges.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "eave/batch.h"

namespace eave {

using TokenNumbers = std::unordered_map<std::string, std::int32_t>;

// The content of the files of a vocabulary.
struct VocabularyText {
  TokenNumbers numbers;                                     // of the tokens that texts become
  std::vector<std::pair<std::string, std::string>> merges;  // in the order of their ranks
  TokenNumbers added;                                       // of other tokens; no number comes twice in both
  std::int32_t separator = kNoLabel;                        // the token that stands behind each document
};

inline constexpr std::int32_t kMostTokens = 1 << 24;  // batches hold tokens as floats

// The content of a file. Throws Error: kInputMissing, or kBadData if it is too large, or of another kind by its first
// bytes, such as a pointer of git-lfs.
std::string read_vocabulary_file(const std::filesystem::path& path);

// These throw Error(kBadData), which begins with `name`, the path of the file.
// encoder.json or vocab.json: one object of names and numbers.
TokenNumbers parse_token_numbers(std::string_view json, const std::string& name);
// vocab.bpe or merges.txt: a pair on each line, behind a first line "#version: 0.2".
std::vector<std::pair<std::string, std::string>> parse_merges(std::string_view text, const std::string& name);

// gpt2_files.cpp: throws Error(kBadData) if tokenizer_config.json or config.json in this folder names a tokenizer that
// gives other tokens than GPT-2's for the same two files, such as Qwen2's, or if tokenizer_config.json or
// added_tokens.json has tokens that texts may hold. Accepts a folder without them.
void require_gpt2_files(const std::filesystem::path& folder);

// The character of a byte in GPT-2's alphabet, in UTF-8. It is a visible one for each byte.
std::string letter_of_byte(std::uint8_t byte);

}  // namespace eave
