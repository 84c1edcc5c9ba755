#include "data/tokens/vocabulary.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "data/tokens/vocabulary_json.h"
#include "data/tokens/vocabulary_kinds.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

class ByteVocabulary final : public Vocabulary {
 public:
  int size() const override { return 256; }
  std::string describe() const override { return "bytes, as they are"; }
  std::string identity() const override { return "bytes"; }
  void encode(std::span<const std::uint8_t> text, std::vector<std::int32_t>& tokens) override {
    tokens.insert(tokens.end(), text.begin(), text.end());
  }
  std::string bytes_of(std::int32_t token) const override { return {static_cast<char>(token)}; }
};

PairMerges merges_of(const VocabularyText& text, const std::string& numbers_name, const std::string& merges_name) {
  PairMerges merges;
  const auto number = [&](const std::string& token, std::size_t merge) {
    const auto found = text.numbers.find(token);
    if (found != text.numbers.end()) return found->second;
    throw Error(ExitCode::kBadData,
                merges_name + ", merge " + std::to_string(merge + 1) + ": the token '" +
                    printable(token.substr(0, 80)) + "' is not in " +
                    (numbers_name == merges_name ? "its vocabulary: get the file again"
                                                 : numbers_name + ": the files belong to different models"));
  };
  for (std::size_t i = 0; i < text.merges.size(); ++i) {
    const auto& [left, right] = text.merges[i];
    const std::uint64_t key = pair_key(number(left, i), number(right, i));
    merges[key] = {static_cast<std::int32_t>(i), number(left + right, i)};  // the last counts, as in tokenizers
  }
  return merges;
}

std::unique_ptr<Vocabulary> make_vocabulary(TokenizerText text, const std::string& numbers_name,
                                            const std::string& merges_name, const std::string& files,
                                            const std::string& hashes) {
  const bool is_gpt2 = text.kind == TokenizerText::Kind::kGpt2;
  TokenTable table{.separator = text.separator, .opening = text.opening, .description = "byte pairs of " + files};
  table.identity = (is_gpt2 ? "byte pairs " : "tokenizer.json ") + hashes + " Unicode " + unicode_version() +
                   (text.newly_read.empty() ? "" : "," + text.newly_read);
  std::int32_t largest = 0;
  for (const TokenNumbers* numbers : {&text.numbers, &text.added}) {
    for (const auto& [token, number] : *numbers) largest = std::max(largest, number);
  }
  table.bytes.resize(static_cast<std::size_t>(largest) + 1);
  PairMerges merges = merges_of(text, numbers_name, merges_name);
  if (text.kind == TokenizerText::Kind::kCharacters)
    return make_character_pairs(text, std::move(merges), std::move(table), numbers_name);
  return make_byte_level(std::move(text), std::move(merges), std::move(table), numbers_name);
}

std::unique_ptr<Vocabulary> open_tokenizer_json(const fs::path& path) {
  const std::string text = read_vocabulary_file(path), name = path.string();
  return make_vocabulary(parse_tokenizer_json(text, name), name, name, name, hash_of(text).text());
}

// A cut file of merges makes texts of more and shorter tokens. Some models have a few tokens that no merge makes, most
// of them special ones in brackets.
void require_whole_merges(const VocabularyText& text, const std::string& numbers_name, const std::string& merges_name) {
  constexpr std::int64_t kMostOthers = 32;
  std::unordered_set<std::string> made;
  for (int byte = 0; byte < 256; ++byte) made.insert(letter_of_byte(static_cast<std::uint8_t>(byte)));
  for (const auto& [left, right] : text.merges) made.insert(left + right);
  std::int64_t others = 0;
  for (const auto& [token, number] : text.numbers) others += made.contains(token) || is_in_brackets(token) ? 0 : 1;
  if (others > std::max(kMostOthers, static_cast<std::int64_t>(text.numbers.size() / 100)))
    refuse_vocabulary(merges_name,
                      " lacks merges for " + count_text(others, "token") + " of " + numbers_name + ": it may be cut");
}

constexpr std::pair<const char*, const char*> kTwoFiles[] = {{"encoder.json", "vocab.bpe"},
                                                             {"vocab.json", "merges.txt"}};

// Refuses half of a vocabulary.
void require_no_half(const fs::path& file) {
  for (const auto& [numbers, merges] : kTwoFiles) {
    const fs::path folder = file.parent_path();
    std::error_code error;
    if (file.filename() != numbers && file.filename() != merges) continue;
    if (!fs::exists(folder / numbers, error) || !fs::exists(folder / merges, error)) continue;
    throw Error(ExitCode::kUsage, "--vocabulary " + file.string() + " is one of two files, " + numbers + " and " +
                                      merges + ": name the folder that has both");
  }
}

std::unique_ptr<Vocabulary> open_two_files(const fs::path& numbers, const fs::path& merges) {
  if (numbers.filename() == "vocab.json") require_gpt2_files(numbers.parent_path());  // only GPT-2 has encoder.json
  const std::string first = read_vocabulary_file(numbers), second = read_vocabulary_file(merges);
  TokenizerText text;
  text.numbers = parse_token_numbers(first, numbers.string());
  text.merges = parse_merges(second, merges.string());
  text.cuts_as_gpt2 = true;
  if (text.numbers.contains("a</w>")) {
    throw Error(ExitCode::kBadData, numbers.string() +
                                        ": its tokens mark the ends of words by </w>, as CLIP's do; eave " +
                                        "reads byte pairs of GPT-2's kind, which do not");
  }
  require_whole_merges(text, numbers.string(), merges.string());
  const auto separator = text.numbers.find("<|endoftext|>");
  if (separator != text.numbers.end()) text.separator = separator->second;
  return make_vocabulary(std::move(text), numbers.string(), merges.string(),
                         numbers.string() + " and " + merges.filename().string(),
                         hash_of(first).text() + " " + hash_of(second).text());
}

}  // namespace

std::string hash_of_tokens(const Vocabulary& vocabulary) {
  Hasher hasher;
  for (int token = 0; token < vocabulary.size(); ++token) {
    const std::string bytes = vocabulary.bytes_of(token);
    hasher.add(std::to_string(bytes.size()) + " " + bytes);
  }
  return hasher.hash().text();
}

std::unique_ptr<Vocabulary> open_vocabulary(const std::string& choice) {
  if (choice == "bytes") return std::make_unique<ByteVocabulary>();
  const fs::path place = choice;
  std::error_code error;
  if (!fs::exists(place, error)) {
    throw Error(ExitCode::kInputMissing, "--vocabulary " + choice + ": no such file or folder; expected bytes, a " +
                                             "tokenizer.json, or a folder with encoder.json and vocab.bpe");
  }
  if (!fs::is_directory(place, error)) {
    require_no_half(place);
    return open_tokenizer_json(place);
  }
  if (fs::exists(place / "tokenizer.json", error)) return open_tokenizer_json(place / "tokenizer.json");
  for (const auto& [numbers, merges] : kTwoFiles) {
    if (fs::exists(place / numbers, error) && fs::exists(place / merges, error))
      return open_two_files(place / numbers, place / merges);
  }
  throw Error(ExitCode::kInputMissing, "--vocabulary " + choice + " holds no vocabulary: expected tokenizer.json, or " +
                                           "encoder.json and vocab.bpe, or vocab.json and merges.txt. " +
                                           kWriteTokenizerJson);
}

}  // namespace eave
