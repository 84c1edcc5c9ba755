#include "data/tokens/vocabulary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "data/files/byte_source.h"
#include "data/tokens/byte_pairs.h"
#include "data/tokens/vocabulary_files.h"
#include "eave/check.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestVocabularyFile = std::uint64_t{1} << 28;

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

class BytePairVocabulary final : public Vocabulary {
 public:
  BytePairVocabulary(BytePairs pairs, std::vector<std::string> bytes, std::int32_t separator, std::string files,
                     const std::string& identity)
      : pairs_(std::move(pairs)),
        encoder_(pairs_),
        bytes_(std::move(bytes)),
        separator_(separator),
        files_(std::move(files)),
        identity_(identity + " Unicode " + unicode_version()) {}
  int size() const override { return static_cast<int>(bytes_.size()); }
  std::string describe() const override {
    return "byte pairs of " + files_ +
           (separator_ < 0 ? ", without a token between files" : ", with <|endoftext|> behind each file");
  }
  std::string identity() const override { return identity_; }
  std::int32_t separator() const override { return separator_; }
  void encode(std::span<const std::uint8_t> text, std::vector<std::int32_t>& tokens) override {
    while (!text.empty()) {
      const std::size_t size = first_word(text);
      encoder_.encode(text.first(size), tokens);
      text = text.subspan(size);
    }
  }
  std::string bytes_of(std::int32_t token) const override { return bytes_.at(static_cast<std::size_t>(token)); }

 private:
  BytePairs pairs_;
  WordEncoder encoder_;
  std::vector<std::string> bytes_;  // of each token
  std::int32_t separator_;
  std::string files_;
  std::string identity_;
};

std::string read_vocabulary_file(const fs::path& path) {
  const FileSource file(path);
  if (file.size() > kLargestVocabularyFile)
    throw Error(ExitCode::kBadData, file.name() + " has " + count_text(static_cast<std::int64_t>(file.size()), "byte") +
                                        ", too many for a vocabulary: name another with --vocabulary");
  std::string text(file.size(), '\0');
  text.resize(file.read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  return text;
}

using Letters256 = std::unordered_map<std::string, std::uint8_t>;

const Letters256& bytes_of_letters() {
  static const Letters256 kBytes = [] {
    Letters256 bytes;
    for (int byte = 0; byte < 256; ++byte)
      bytes[letter_of_byte(static_cast<std::uint8_t>(byte))] = static_cast<std::uint8_t>(byte);
    return bytes;
  }();
  return kBytes;
}

// Translates from GPT-2's alphabet. A token with another character, such as an added one, stands for itself.
std::string bytes_of_token(const std::string& token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const std::size_t size = (static_cast<std::uint8_t>(token[at]) & 0x80) == 0 ? 1 : 2;
    const auto found = bytes_of_letters().find(token.substr(at, size));
    if (found == bytes_of_letters().end()) return token;
    bytes += static_cast<char>(found->second);
    at += size;
  }
  return bytes;
}

std::array<std::int32_t, 256> tokens_of_bytes(const TokenNumbers& numbers, const std::string& name) {
  std::array<std::int32_t, 256> tokens{};
  for (const auto& [letter, byte] : bytes_of_letters()) {
    const auto found = numbers.find(letter);
    if (found == numbers.end())
      throw Error(ExitCode::kBadData, name + " has no token for byte " + std::to_string(byte) +
                                          ", so it is no byte-level vocabulary: name another with --vocabulary");
    tokens[byte] = found->second;
  }
  return tokens;
}

BytePairs byte_pairs_of(const VocabularyText& text, const std::string& numbers_name, const std::string& merges_name) {
  std::unordered_map<std::uint64_t, BytePairs::Merge> merges;
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
    const std::uint64_t key = BytePairs::key(number(left, i), number(right, i));
    merges.try_emplace(key, BytePairs::Merge{static_cast<std::int32_t>(i), number(left + right, i)});
  }
  return {tokens_of_bytes(text.numbers, numbers_name), std::move(merges)};
}

std::unique_ptr<Vocabulary> make_byte_pairs(const VocabularyText& text, const std::string& numbers_name,
                                            const std::string& merges_name, const std::string& files,
                                            const std::string& identity) {
  std::int32_t largest = 0;
  for (const auto& [token, number] : text.numbers) largest = std::max(largest, number);
  std::vector<std::string> bytes(static_cast<std::size_t>(largest) + 1);
  for (const auto& [token, number] : text.numbers) bytes[static_cast<std::size_t>(number)] = bytes_of_token(token);
  return std::make_unique<BytePairVocabulary>(byte_pairs_of(text, numbers_name, merges_name), std::move(bytes),
                                              text.separator, files, identity);
}

std::unique_ptr<Vocabulary> open_tokenizer_json(const fs::path& path) {
  const std::string text = read_vocabulary_file(path), name = path.string();
  return make_byte_pairs(parse_tokenizer_json(text, name), name, name, name, "byte pairs " + hash_of(text).text());
}

std::unique_ptr<Vocabulary> open_two_files(const fs::path& numbers, const fs::path& merges) {
  const std::string first = read_vocabulary_file(numbers), second = read_vocabulary_file(merges);
  VocabularyText text{parse_token_numbers(first, numbers.string()), parse_merges(second, merges.string())};
  if (text.numbers.contains("a</w>")) {
    throw Error(ExitCode::kBadData, numbers.string() +
                                        ": its tokens mark the ends of words by </w>, as CLIP's do; eave " +
                                        "reads byte pairs of GPT-2's kind, which do not");
  }
  const auto separator = text.numbers.find("<|endoftext|>");
  if (separator != text.numbers.end()) text.separator = separator->second;
  return make_byte_pairs(text, numbers.string(), merges.string(),
                         numbers.string() + " and " + merges.filename().string(),
                         "byte pairs " + hash_of(first).text() + " " + hash_of(second).text());
}

}  // namespace

std::unique_ptr<Vocabulary> open_vocabulary(const std::string& choice) {
  if (choice == "bytes") return std::make_unique<ByteVocabulary>();
  const fs::path place = choice;
  std::error_code error;
  if (!fs::exists(place, error)) {
    throw Error(ExitCode::kInputMissing, "--vocabulary " + choice + ": no such file or folder; expected bytes, a " +
                                             "tokenizer.json, or a folder with encoder.json and vocab.bpe");
  }
  if (!fs::is_directory(place, error)) return open_tokenizer_json(place);
  if (fs::exists(place / "tokenizer.json", error)) return open_tokenizer_json(place / "tokenizer.json");
  for (const auto& [numbers, merges] :
       {std::pair("encoder.json", "vocab.bpe"), std::pair("vocab.json", "merges.txt")}) {
    if (fs::exists(place / numbers, error) && fs::exists(place / merges, error))
      return open_two_files(place / numbers, place / merges);
  }
  throw Error(ExitCode::kInputMissing, "--vocabulary " + choice + " holds no vocabulary: expected tokenizer.json, or " +
                                           "encoder.json and vocab.bpe, or vocab.json and merges.txt");
}

}  // namespace eave
