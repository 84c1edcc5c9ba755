#include "data/tokens/token_file.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::uint64_t kHeaderBytes = 1024;
constexpr std::uint32_t kGpt2Magic = 20240520, kLlama3Magic = 20240801;
constexpr int kGpt2Vocabulary = 50257, kLlama3Vocabulary = 128256;
constexpr const char* kGetTokens = "; get it again, or write it again with the program that made it";

std::uint32_t number_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  return bytes[at] | std::uint32_t{bytes[at + 1]} << 8 | std::uint32_t{bytes[at + 2]} << 16 |
         std::uint32_t{bytes[at + 3]} << 24;
}

[[noreturn]] void refuse_tokens(const ByteSource& file, const std::string& what) {
  throw Error(ExitCode::kBadData, file.name() + what);
}

// "" unless it is a magic number of llm.c's other files.
std::string other_file_of_llmc(std::uint32_t magic) {
  if (magic == 20240326 || magic == 20240327) return "a checkpoint";
  if (magic == 20240328) return "a tokenizer";
  return magic == 20240522 ? "an evaluation with questions and answers" : "";
}

TokenFormat format_behind_header(const ByteSource& file, std::span<const std::uint8_t> header) {
  const bool is_gpt2 = number_at(header, 0) == kGpt2Magic;
  const std::uint32_t version = number_at(header, 4), tokens = number_at(header, 8), expected = is_gpt2 ? 1 : 7;
  if (version != expected) {
    refuse_tokens(file, " is llm.c's file of tokens in version " + std::to_string(version) +
                            " (at offset 4); eave reads version " + std::to_string(expected) + kGetTokens);
  }
  TokenFormat format{kHeaderBytes, is_gpt2 ? 2 : 4, tokens, is_gpt2 ? kGpt2Vocabulary : kLlama3Vocabulary};
  const std::uint64_t right = kHeaderBytes + std::uint64_t{tokens} * static_cast<std::uint64_t>(format.bytes_per_token);
  if (tokens == 0) refuse_tokens(file, " holds no tokens, as its header says (at offset 8)" + std::string(kGetTokens));
  if (right == file.size()) return format;
  refuse_tokens(file, " has " + count_text(static_cast<std::int64_t>(file.size()), "byte") +
                          ", but its header (at offset 8) says " + count_text(tokens, "token") + ", which take " +
                          std::to_string(right) + kGetTokens);
}

// Whether each second number of 16 bits is at most 3, and most of the others are not, in all parts that are looked at.
// So it is in numbers of 32 bits below 2^18, lowest byte first, and hardly in tokens of 16 bits.
bool looks_like_32_bits(const ByteSource& file) {
  constexpr std::uint64_t kPairBytes = 4, kFewestPairs = 16, kPieces = 64, kBytesOfPiece = 16384;
  if (file.size() % kPairBytes != 0 || file.size() < kFewestPairs * kPairBytes) return false;
  std::int64_t pairs = 0, large = 0;
  std::vector<std::uint8_t> piece(kBytesOfPiece);
  const std::uint64_t distance = std::max(kBytesOfPiece, file.size() / kPieces / kPairBytes * kPairBytes);
  for (std::uint64_t at = 0; at < file.size(); at += distance) {
    const std::size_t count = file.read_at(at, piece);
    for (std::size_t i = 0; i + kPairBytes <= count; i += kPairBytes) {
      if (piece[i + 2] > 3 || piece[i + 3] != 0) return false;
      ++pairs;
      large += piece[i] > 3 || piece[i + 1] != 0 ? 1 : 0;
    }
  }
  return 2 * large > pairs;
}

void require_16_bits(const ByteSource& file) {
  if (!looks_like_32_bits(file)) return;
  refuse_tokens(
      file,
      " looks like numbers of 32 bits; without a header eave reads 16 bits: write them as numpy's "
      "uint16, or put llm.c's header before them (" +
          std::to_string(kLlama3Magic) +
          ", version 7), which says that they have 32 bits. If they have 16, put that of GPT-2 before them (" +
          std::to_string(kGpt2Magic) + ", version 1)");
}

}  // namespace

TokenFormat read_token_format(const ByteSource& file) {
  if (file.size() == 0) refuse_tokens(file, " is empty: it has 0 bytes" + std::string(kGetTokens));
  std::array<std::uint8_t, 12> begin{};
  const std::size_t count = file.read_at(0, begin);
  const std::uint32_t magic = count < 4 ? 0 : number_at(begin, 0);
  if (const std::string other = other_file_of_llmc(magic); !other.empty())
    refuse_tokens(file, " is " + other + " of llm.c, not tokens: move it elsewhere, or name another --data-dir");
  if (magic == kGpt2Magic || magic == kLlama3Magic) {
    if (file.size() >= kHeaderBytes && count == begin.size()) return format_behind_header(file, begin);
    refuse_tokens(file, " ends at offset " + std::to_string(file.size()) + ", within llm.c's header" + kGetTokens);
  }
  require_16_bits(file);
  if (file.size() % 2 == 0) return {0, 2, static_cast<std::int64_t>(file.size() / 2), 0};
  const std::string what = describe_unpacked(file, "name a folder of .bin files that nanoGPT or llm.c wrote");
  refuse_tokens(file, " has " + count_text(static_cast<std::int64_t>(file.size()), "byte") +
                          ", an odd number, but each token takes 2" + (what.empty() ? kGetTokens : "; it " + what));
}

void require_in_vocabulary(const ByteSource& file, const TokenFormat& format, std::int64_t first,
                           std::span<const std::int32_t> tokens, int vocabulary) {
  const auto wrong = std::ranges::find_if(tokens, [&](std::int32_t token) { return token < 0 || token >= vocabulary; });
  if (wrong == tokens.end()) return;
  const auto number = static_cast<std::uint64_t>(first + (wrong - tokens.begin()));
  const std::uint64_t offset = format.begin + number * static_cast<std::uint64_t>(format.bytes_per_token);
  refuse_tokens(file, ": token " + std::to_string(static_cast<std::uint32_t>(*wrong)) + " at offset " +
                          std::to_string(offset) + " is not in the vocabulary of " + std::to_string(vocabulary) +
                          ": give its size with --vocabulary-size; or the file is damaged, or holds no tokens");
}

TokenFiles::TokenFiles(std::vector<File> files, int vocabulary) : files_(std::move(files)), vocabulary_(vocabulary) {
  begins_ = {0};
  for (const File& file : files_) begins_.push_back(begins_.back() + file.format.tokens);
}

void TokenFiles::read_file(const File& file, std::int64_t first, std::span<std::int32_t> tokens) const {
  const auto width = static_cast<std::size_t>(file.format.bytes_per_token);
  // The bytes are read into the end of `tokens`, and become numbers from its beginning on: no number is written over
  // bytes that are still to be read.
  const std::span<std::uint8_t> room(reinterpret_cast<std::uint8_t*>(tokens.data()), tokens.size_bytes());
  const std::span<std::uint8_t> bytes = room.last(tokens.size() * width);
  const std::uint64_t offset = file.format.begin + static_cast<std::uint64_t>(first) * width;
  if (file.source->read_at(offset, bytes) != bytes.size()) {
    throw Error(ExitCode::kInputOutput, file.source->name() + " became shorter while eave trains on it");
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::uint8_t* const at = bytes.data() + i * width;
    std::uint32_t token = at[0] | std::uint32_t{at[1]} << 8;
    if (width == 4) token |= std::uint32_t{at[2]} << 16 | std::uint32_t{at[3]} << 24;
    tokens[i] = static_cast<std::int32_t>(token);
  }
  require_in_vocabulary(*file.source, file.format, first, tokens, vocabulary_);
}

void TokenFiles::read(std::int64_t first, std::span<std::int32_t> tokens) const {
  auto file = static_cast<std::size_t>(std::ranges::upper_bound(begins_, first) - begins_.begin()) - 1;
  for (; !tokens.empty(); ++file) {
    const auto count = std::min(tokens.size(), static_cast<std::size_t>(begins_[file + 1] - first));
    read_file(files_[file], first - begins_[file], tokens.first(count));
    tokens = tokens.subspan(count);
    first += static_cast<std::int64_t>(count);
  }
}

std::string TokenFiles::check(std::uint64_t most_bytes) const {
  constexpr std::int64_t kPiece = std::int64_t{1} << 19;
  const std::int64_t pieces = std::max<std::int64_t>(1, static_cast<std::int64_t>(most_bytes) / (2 * kPiece));
  const std::int64_t distance = std::max(kPiece, size() / pieces);
  std::vector<std::int32_t> tokens;
  Hasher hasher;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    tokens.resize(static_cast<std::size_t>(last - first));
    read(first, tokens);
    hasher.add({reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof tokens[0]});
  };
  for (std::int64_t first = 0; first < size(); first += distance) add(first, std::min(first + kPiece, size()));
  for (std::size_t i = 0; i < files_.size(); ++i) {
    add(std::max(begins_[i], begins_[i + 1] - 1024), begins_[i + 1]);
    hasher.add(std::to_string(files_[i].format.tokens) + " ");
  }
  return hasher.hash().text();
}

}  // namespace eave
