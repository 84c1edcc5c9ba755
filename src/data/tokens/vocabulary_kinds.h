// Vocabularies with a table of tokens, which differ in how they encode. Each kind is a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "data/tokens/byte_pairs.h"
#include "data/tokens/tokenizer_json.h"
#include "data/tokens/vocabulary.h"

namespace eave {

struct TokenTable {
  std::vector<std::string> bytes = {};  // of each token
  std::int32_t separator = kNoLabel, opening = kNoLabel;
  std::string description = {};  // "byte pairs of FILE"
  std::string identity = {};
};

class TableVocabulary : public Vocabulary {
 public:
  explicit TableVocabulary(TokenTable table) : table_(std::move(table)) {}
  int size() const override { return static_cast<int>(table_.bytes.size()); }
  std::string describe() const override {
    const auto name = [&](std::int32_t token) { return printable(bytes_of(token).substr(0, 80)); };
    const std::string before = opening() < 0 ? "" : name(opening()) + " before";
    const std::string behind = separator() < 0 ? "" : name(separator()) + " behind";
    if (before.empty() && behind.empty()) return table_.description + ", without a token between files";
    return table_.description + ", with " + before + (before.empty() || behind.empty() ? "" : " and ") + behind +
           " each file";
  }
  std::string identity() const override { return table_.identity; }
  std::int32_t separator() const override { return table_.separator; }
  std::int32_t opening() const override { return table_.opening; }
  std::string bytes_of(std::int32_t token) const override { return table_.bytes.at(static_cast<std::size_t>(token)); }

 private:
  TokenTable table_;
};

// byte_level.cpp: byte-level BPE. Each word becomes the tokens of its bytes, then pairs are merged. The text is of the
// kind kGpt2 or kBytes. Fills in the bytes of the table's tokens. `name` is the path of the file of numbers. Throws
// Error(kBadData) if a byte has no token.
std::unique_ptr<Vocabulary> make_byte_level(TokenizerText text, PairMerges merges, TokenTable table,
                                            const std::string& name);

// character_pairs.cpp: BPE of characters, with U+2581 for spaces. This is Llama 2's kind, which SentencePiece made
// first. The text is of the kind kCharacters. Fills in the bytes of the table's tokens. Throws Error(kBadData) if
// U+2581, or a byte with byte_fallback, has no token, or if such a token of a byte is merged.
std::unique_ptr<Vocabulary> make_character_pairs(const TokenizerText& text, PairMerges merges, TokenTable table,
                                                 const std::string& name);

}  // namespace eave
