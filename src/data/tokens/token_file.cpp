#include "data/tokens/token_file.h"

#include <algorithm>
#include <array>
#include <cstring>
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
constexpr std::uint64_t kFewestBytes = 64, kPieces = 64, kBytesOfPiece = 16384;
constexpr std::int64_t kManyTokens = 64, kTokensOfStray = 64;
constexpr std::uint32_t kMostOf16Bits = 65535, kFewestOfLimit = 1 << 18;
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

// Tokens may begin like another file by chance, if that has a short magic number.
void require_no_other_file(const ByteSource& file) {
  const ContentKind kind = content_kind_of(file);
  if (!kind.is_sure) return;
  refuse_tokens(file, " is " + kind.what + ", not tokens: " +
                          (kind.remedy.empty() ? "write tokens as numpy's uint16 with tofile; for text give --data text"
                                               : kind.remedy));
}

// Counts over a sample of numbers, each of which may be a token below `limit`.
struct Seen {
  std::uint32_t limit;
  std::int64_t numbers = 0, positive = 0;
  std::int64_t strays = 0;  // no tokens: not whole, negative, or not below the limit
  std::int64_t above_16_bits = 0;
  std::int64_t large = 0;  // their low 16 bits are more than the high 16 bits of a token
};

template <typename Number>
void add_numbers(std::span<const std::uint8_t> bytes, Seen& seen) {
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    ++seen.numbers;
    const bool is_below = number >= 0 && number < static_cast<Number>(seen.limit);
    const auto token = is_below ? static_cast<std::uint32_t>(number) : 0;
    if (static_cast<Number>(token) != number) {
      ++seen.strays;
      continue;
    }
    seen.positive += token > 0 ? 1 : 0;
    seen.above_16_bits += token > kMostOf16Bits ? 1 : 0;
    seen.large += (token & kMostOf16Bits) > (seen.limit - 1) >> 16 ? 1 : 0;
  }
}

// Wide numbers may have a few strays among them, such as -1 behind each document. If numbers of 16 bits are taken in
// pairs for wide ones, about as many of them are strays as are tokens.
bool are_wide(const Seen& seen, std::int64_t tokens, std::int64_t strays) {
  return kTokensOfStray * strays <= tokens && (tokens >= kManyTokens || 2 * tokens > seen.numbers);
}

template <typename Number>
bool looks_like(const ByteSource& file, std::uint32_t limit) {
  if (file.size() < kFewestBytes) return false;
  Seen seen{.limit = limit};
  std::vector<std::uint8_t> piece(kBytesOfPiece);
  const std::uint64_t distance = std::max(kBytesOfPiece, file.size() / kPieces / sizeof(Number) * sizeof(Number));
  for (std::uint64_t at = 0; at < file.size(); at += distance) {
    const std::size_t count = file.read_at(at, piece);
    add_numbers<Number>(std::span(piece).first(count), seen);
  }
  // Small tokens of 16 bits in pairs may look like numbers of more than 16 bits, but not like large ones.
  return are_wide(seen, seen.positive, seen.strays + seen.above_16_bits) || are_wide(seen, seen.large, seen.strays);
}

// "numbers of 64 bits", or "" if the file may hold 16 bits. Looks at pieces of the file at even distances. It takes
// tokens of 16 bits for wider numbers only if they are 0 at nearly all places where wider numbers have their high
// bytes, and not 0 in most of the other places, or in 64 of them.
std::string kind_of_wide_numbers(const ByteSource& file, std::uint32_t limit) {
  if (looks_like<std::uint64_t>(file, limit)) return "numbers of 64 bits";
  if (looks_like<double>(file, limit)) return "floating-point numbers of 64 bits";
  if (looks_like<float>(file, limit)) return "floating-point numbers of 32 bits";
  return looks_like<std::uint32_t>(file, limit) ? "numbers of 32 bits" : "";
}

void require_16_bits(const ByteSource& file, int vocabulary) {
  const std::string kind = kind_of_wide_numbers(file, std::max(kFewestOfLimit, static_cast<std::uint32_t>(vocabulary)));
  if (kind.empty()) return;
  refuse_tokens(file, " looks like " + kind +
                          "; without a header eave reads 16 bits: write them as numpy's uint16, or as uint32 behind "
                          "llm.c's header (" +
                          std::to_string(kLlama3Magic) + ", version 7). If they have 16 bits, put that of GPT-2 (" +
                          std::to_string(kGpt2Magic) + ", version 1) before them");
}

}  // namespace

TokenFormat read_token_format(const ByteSource& file, int vocabulary) {
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
  require_no_other_file(file);
  require_16_bits(file, vocabulary);
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
