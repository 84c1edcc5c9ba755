// What all vocabularies with a table of tokens have. They differ in how they encode.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
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

}  // namespace eave
