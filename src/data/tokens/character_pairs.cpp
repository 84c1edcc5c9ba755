// BPE of characters.
#include <algorithm>
#include <array>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include "data/tokens/utf8_character.h"
#include "data/tokens/vocabulary_json.h"
#include "data/tokens/vocabulary_kinds.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::string_view kMark = "▁";  // U+2581
constexpr UChar32 kMarkCode = 0x2581;
using FirstSpace = TokenizerText::FirstSpace;

std::string_view last_character(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
  return text.substr(begin);
}

std::string name_of_byte(int byte) {
  std::array<char, 8> name{};
  std::snprintf(name.data(), name.size(), "<0x%02X>", byte);
  return name.data();
}

std::string bytes_of_token(std::string token) {
  for (std::size_t at = token.find(kMark); at != std::string::npos; at = token.find(kMark, at))
    token.replace(at, kMark.size(), " ");
  return token;
}

// As the normalizer gives a text.
std::string with_marks(std::string_view text, bool begins_with_mark) {
  std::string marked(begins_with_mark ? kMark : "");
  for (const char letter : text) {
    if (letter == ' ') marked += kMark;
    if (letter != ' ') marked += letter;
  }
  return marked;
}

// The tokens of characters and of bytes, with which the encoding of a text begins.
struct Alphabet {
  std::unordered_map<UChar32, std::int32_t> characters;
  std::array<std::int32_t, 256> bytes{};  // used only if the file says byte_fallback
  std::int32_t mark = kNoLabel;
};

Alphabet alphabet_of(const TokenizerText& text, const std::string& name) {
  Alphabet alphabet;
  for (const auto& [token, number] : text.numbers) {
    if (token.empty()) continue;
    const auto [code, bytes] = utf8_character_at(bytes_in(token), 0);
    if (bytes == token.size()) alphabet.characters[code] = number;
  }
  const auto require = [&](const std::string& token) {
    const auto found = text.numbers.find(token);
    if (found == text.numbers.end()) refuse_kind(name, "it has no token " + quoted_token(token));
    return found->second;
  };
  alphabet.mark = require(std::string(kMark));
  for (int byte = 0; text.falls_back && byte < 256; ++byte)
    alphabet.bytes[static_cast<std::size_t>(byte)] = require(name_of_byte(byte));
  return alphabet;
}

// The pairs of characters between which a merge may take place, as pair_key of their tokens. A text is cut between all
// others, which changes no token: merges on the two sides never meet. So a long text is encoded word by word.
std::unordered_set<std::uint64_t> joints_of(const TokenizerText& text, const Alphabet& alphabet) {
  std::unordered_set<std::uint64_t> joints;
  for (const auto& [left, right] : text.merges) {
    const auto before = alphabet.characters.find(utf8_character_at(bytes_in(last_character(left)), 0).code);
    const auto after = alphabet.characters.find(utf8_character_at(bytes_in(right), 0).code);
    if (before != alphabet.characters.end() && after != alphabet.characters.end())
      joints.insert(pair_key(before->second, after->second));
  }
  return joints;
}

// These tokens' texts are not those that they stand for, so joints_of would not know of the merge.
void require_plain_merges(const TokenizerText& text, const Alphabet& alphabet, const std::string& name) {
  std::unordered_set<std::int32_t> others;
  if (text.falls_back) others.insert(alphabet.bytes.begin(), alphabet.bytes.end());
  if (text.unknown != kNoLabel) others.insert(text.unknown);
  for (const auto& [left, right] : text.merges) {
    for (const std::string& token : {left, right, left + right}) {
      if (left.empty() || right.empty() || others.contains(text.numbers.at(token)))
        refuse_kind(name, "it merges " + quoted_token(left) + " and " + quoted_token(right));
    }
  }
}

class CharacterVocabulary final : public TableVocabulary {
 public:
  CharacterVocabulary(const TokenizerText& text, Alphabet alphabet, PairMerges merges, TokenTable table)
      : TableVocabulary(std::move(table)),
        joints_(joints_of(text, alphabet)),
        alphabet_(std::move(alphabet)),
        merges_(std::move(merges)),
        encoder_(merges_),
        first_space_(text.first_space),
        marks_in_normalizer_(text.marks_in_normalizer),
        cuts_at_spaces_(text.cuts_at_spaces),
        falls_back_(text.falls_back),
        fuses_unknown_(text.fuses_unknown),
        unknown_(text.unknown),
        added_(text.added_tokens, false, [](std::string_view token) { return std::string(token); }),
        normalized_added_(text.added_tokens, true, [&](std::string_view token) { return normalized(token); }) {}

  bool begins_with_space() const override { return first_space_ != FirstSpace::kNone; }

  void encode(std::span<const std::uint8_t> bytes, std::vector<std::int32_t>& tokens) override {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.empty()) return;
    added_.split(text, [&](std::string_view part, std::int32_t token) {
      if (token != kNoLabel) return tokens.push_back(token);
      encode_between(part, part.data() == text.data(), tokens);
    });
  }

 private:
  std::string normalized(std::string_view text) const {
    return marks_in_normalizer_ ? with_marks(text, first_space_ == FirstSpace::kAlways) : std::string(text);
  }

  // Whether a piece gets a space before it that it has not.
  bool gets_space(std::string_view piece, bool is_at_begin) const {
    if (first_space_ == FirstSpace::kAlways) return true;
    const bool may_get = first_space_ == FirstSpace::kIfThereIsNone ||
                         (first_space_ == FirstSpace::kIfThereIsNoneAtBegin && is_at_begin);
    return may_get && !piece.starts_with(' ') && !piece.starts_with(kMark);
  }

  void encode_between(std::string_view piece, bool is_at_begin, std::vector<std::int32_t>& tokens) {
    if (normalized_added_.is_empty()) return encode_piece(piece, gets_space(piece, is_at_begin), tokens);
    const std::string text = normalized(piece);
    normalized_added_.split(text, [&](std::string_view part, std::int32_t token) {
      if (token != kNoLabel) return tokens.push_back(token);
      const bool is_first = is_at_begin && part.data() == text.data();
      encode_piece(part, !marks_in_normalizer_ && gets_space(part, is_first), tokens);
    });
  }

  void encode_piece(std::string_view piece, bool gets_space, std::vector<std::int32_t>& tokens) {
    const std::span<const std::uint8_t> bytes = bytes_in(piece);
    if (gets_space) add(alphabet_.mark, tokens);
    bool was_unknown = false;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto [code, size] = utf8_character_at(bytes, at);
      const auto found = alphabet_.characters.find(code == ' ' ? kMarkCode : code);
      const bool is_known = found != alphabet_.characters.end();
      if (is_known) add(found->second, tokens);
      if (!is_known) add_unknown(bytes.subspan(at, size), was_unknown, tokens);
      was_unknown = !is_known;
      at += size;
    }
    end_segment(tokens);
  }

  void add_unknown(std::span<const std::uint8_t> character, bool was_unknown, std::vector<std::int32_t>& tokens) {
    if (!falls_back_) {
      if (!(was_unknown && fuses_unknown_)) add(unknown_, tokens);
      return;
    }
    for (const std::uint8_t byte : character) add(alphabet_.bytes[byte], tokens);
  }

  void add(std::int32_t token, std::vector<std::int32_t>& tokens) {
    const bool is_cut = cuts_at_spaces_ && token == alphabet_.mark;
    if (!segment_.empty() && (is_cut || !joints_.contains(pair_key(segment_.back(), token)))) end_segment(tokens);
    segment_.push_back(token);
  }

  void end_segment(std::vector<std::int32_t>& tokens) {
    const std::string_view word(reinterpret_cast<const char*>(segment_.data()),
                                segment_.size() * sizeof segment_.front());
    if (!encoder_.encode_known(word, tokens)) encoder_.encode_new(word, segment_, tokens);
    segment_.clear();
  }

  std::unordered_set<std::uint64_t> joints_;
  Alphabet alphabet_;
  PairMerges merges_;
  WordEncoder encoder_;
  FirstSpace first_space_;
  bool marks_in_normalizer_;
  bool cuts_at_spaces_;
  bool falls_back_;
  bool fuses_unknown_;
  std::int32_t unknown_;
  AddedTokenSearch added_, normalized_added_;
  std::vector<std::int32_t> segment_;  // tokens that merges may join
};

}  // namespace

std::unique_ptr<Vocabulary> make_character_pairs(const TokenizerText& text, PairMerges merges, TokenTable table,
                                                 const std::string& name) {
  Alphabet alphabet = alphabet_of(text, name);
  require_plain_merges(text, alphabet, name);
  for (const TokenNumbers* numbers : {&text.numbers, &text.added}) {
    for (const auto& [token, number] : *numbers) table.bytes[static_cast<std::size_t>(number)] = bytes_of_token(token);
  }
  for (std::size_t byte = 0; text.falls_back && byte < 256; ++byte)
    table.bytes[static_cast<std::size_t>(alphabet.bytes[byte])] = static_cast<char>(byte);
  return std::make_unique<CharacterVocabulary>(text, std::move(alphabet), std::move(merges), std::move(table));
}

}  // namespace eave
