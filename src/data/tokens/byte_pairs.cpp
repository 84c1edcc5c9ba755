#include "data/tokens/byte_pairs.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>

#include "data/tokens/utf8_character.h"

namespace eave {
namespace {

constexpr std::size_t kMostKnown = 1'000'000;
constexpr std::size_t kLongestKnown = 64;  // bytes

enum class Letters : std::uint8_t { kLetter, kNumber, kSpace, kOther };

Letters letters_of(UChar32 code) {
  const auto mask = static_cast<std::uint32_t>(U_GET_GC_MASK(code));
  if ((mask & U_GC_L_MASK) != 0) return Letters::kLetter;
  if ((mask & U_GC_N_MASK) != 0) return Letters::kNumber;
  return u_isUWhiteSpace(code) != 0 ? Letters::kSpace : Letters::kOther;
}

struct Character {
  std::size_t bytes = 0;  // 0: the text has ended
  Letters letters = Letters::kOther;
};

Character character_at(std::span<const std::uint8_t> text, std::size_t at) {
  static const std::array<Letters, 128> kAscii = [] {
    std::array<Letters, 128> table{};
    for (std::size_t code = 0; code < table.size(); ++code) table[code] = letters_of(static_cast<UChar32>(code));
    return table;
  }();
  if (at >= text.size()) return {};
  if (text[at] < 0x80) return {1, kAscii[text[at]]};
  const auto [code, bytes] = utf8_character_at(text, at);
  return {bytes, code < 0 ? Letters::kOther : letters_of(code)};
}

// The end of the characters of one kind that begin at `at`.
std::size_t end_of_run(std::span<const std::uint8_t> text, std::size_t at, Letters kind) {
  for (Character next = character_at(text, at); next.bytes > 0 && next.letters == kind; next = character_at(text, at)) {
    at += next.bytes;
  }
  return at;
}

std::size_t contraction(std::span<const std::uint8_t> text) {
  const std::string_view begin(reinterpret_cast<const char*>(text.data()), std::min<std::size_t>(3, text.size()));
  for (const std::string_view each : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (begin.starts_with(each)) return each.size();
  }
  return 0;
}

// White space up to the end of the text is one word. Before other characters its last character belongs to the next
// word, if there are more than one.
std::size_t spaces(std::span<const std::uint8_t> text) {
  std::size_t end = 0, last = 0;
  for (Character next = character_at(text, 0); next.bytes > 0 && next.letters == Letters::kSpace;
       next = character_at(text, end)) {
    last = end;
    end += next.bytes;
  }
  return end == text.size() || last == 0 ? end : last;
}

}  // namespace

std::size_t first_word(std::span<const std::uint8_t> text) {
  if (text[0] == '\'') {
    if (const std::size_t bytes = contraction(text); bytes > 0) return bytes;
  }
  const std::size_t begin = text[0] == ' ' ? 1 : 0;
  const Character first = character_at(text, begin);
  if (first.bytes == 0 || first.letters == Letters::kSpace) return spaces(text);
  return end_of_run(text, begin, first.letters);
}

std::string unicode_version() {
  UVersionInfo version{};
  u_getUnicodeVersion(version);
  return std::to_string(version[0]) + "." + std::to_string(version[1]);
}

bool WordEncoder::encode_known(std::string_view word, std::vector<std::int32_t>& tokens) const {
  const auto found = known_.find(word);
  if (found == known_.end()) return false;
  tokens.insert(tokens.end(), found->second.begin(), found->second.end());
  return true;
}

void WordEncoder::encode_new(std::string_view word, std::span<const std::int32_t> first,
                             std::vector<std::int32_t>& tokens) {
  merge(first);
  const std::size_t begin = tokens.size();
  for (const Piece& piece : pieces_) {
    if (piece.token >= 0) tokens.push_back(piece.token);
  }
  if (word.size() > kLongestKnown || known_.size() >= kMostKnown) return;
  known_.emplace(word, std::vector<std::int32_t>(tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.end()));
}

void WordEncoder::merge(std::span<const std::int32_t> first) {
  pieces_.clear();
  const std::int64_t size = std::ssize(first);
  for (std::int64_t i = 0; i < size; ++i)
    pieces_.push_back({first[static_cast<std::size_t>(i)], i - 1, i + 1 < size ? i + 1 : -1});
  for (std::int64_t i = 0; i + 1 < size; ++i) consider(i);
  while (!candidates_.empty()) {
    const Candidate best = candidates_.top();
    candidates_.pop();
    apply(best);
  }
}

// Notes the pair of a piece and the one after it, if they may be merged.
void WordEncoder::consider(std::int64_t left) {
  if (left < 0) return;
  const Piece& piece = pieces_[static_cast<std::size_t>(left)];
  if (piece.after < 0) return;
  const std::int32_t right = pieces_[static_cast<std::size_t>(piece.after)].token;
  const auto found = merges_.find(pair_key(piece.token, right));
  if (found != merges_.end()) candidates_.push({found->second.rank, left, piece.token, right, found->second.token});
}

// Other merges may have changed the pair since it was noted.
void WordEncoder::apply(const Candidate& candidate) {
  Piece& left = pieces_[static_cast<std::size_t>(candidate.at)];
  if (left.token != candidate.left || left.after < 0) return;
  Piece& right = pieces_[static_cast<std::size_t>(left.after)];
  if (right.token != candidate.right) return;
  left.token = candidate.token;
  right.token = -1;
  left.after = right.after;
  if (left.after >= 0) pieces_[static_cast<std::size_t>(left.after)].before = candidate.at;
  consider(left.before);
  consider(candidate.at);
}

}  // namespace eave
