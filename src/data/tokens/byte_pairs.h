// Byte-pair encoding as in GPT-2: cuts text into words, and merges neighbouring tokens of a word, the pair of the
// lowest rank first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace eave {

// The number of bytes of the first word of `text`, which is not empty. Words are the matches of GPT-2's pattern
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// with the letters, numbers and white space of Unicode, as the ICU library knows them. A byte that is no UTF-8 counts
// as a character that is none of these.
std::size_t first_word(std::span<const std::uint8_t> text);

// The version of Unicode that the ICU library knows, "15.1". Another version may cut other words.
std::string unicode_version();

// Sennrich, Haddow, Birch, "Neural machine translation of rare words with subword units", 2016.
struct Merge {
  std::int32_t rank;
  std::int32_t token;
};
using PairMerges = std::unordered_map<std::uint64_t, Merge>;  // found by pair_key(left, right)
inline std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

// Encodes words, and remembers the first million short ones, because words come again. Not thread-safe.
class WordEncoder {
 public:
  explicit WordEncoder(const PairMerges& merges) : merges_(merges) {}  // `merges` outlives it
  // Appends the tokens of the word to `tokens`, if it is remembered. Otherwise returns false.
  bool encode_known(std::string_view word, std::vector<std::int32_t>& tokens) const;
  // Appends the tokens of the word, whose bytes or characters have the tokens `first` before any merge. Takes time
  // proportional to n log n for n of them. A word that comes again must have the same `first`.
  void encode_new(std::string_view word, std::span<const std::int32_t> first, std::vector<std::int32_t>& tokens);
  // From now on the word has this one token, whatever its merges give.
  void remember(const std::string& word, std::int32_t token) { known_[word] = {token}; }

 private:
  // Tokens of the word in a list from left to right; a token that was merged into its left neighbour has the value -1.
  struct Piece {
    std::int32_t token;
    std::int64_t before, after;
  };
  struct Candidate {
    std::int32_t rank;
    std::int64_t at;  // number of the left piece
    std::int32_t left, right, token;
  };
  struct Later {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
    }
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void merge(std::span<const std::int32_t> first);
  void consider(std::int64_t left);
  void apply(const Candidate& candidate);

  const PairMerges& merges_;
  std::vector<Piece> pieces_;
  std::priority_queue<Candidate, std::vector<Candidate>, Later> candidates_;
  std::unordered_map<std::string, std::vector<std::int32_t>, TextHash, std::equal_to<>> known_;
};

}  // namespace eave
