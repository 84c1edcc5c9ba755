// Byte-level BPE.
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/options/number_text.h"
#include "data/tokens/utf8_character.h"
#include "data/tokens/vocabulary_kinds.h"
#include "eave/check.h"

namespace eave {
namespace {

using ByteTokens256 = std::array<std::int32_t, 256>;
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

// Translates from GPT-2's alphabet. Nothing if a character is not of it, as in added tokens.
std::optional<std::string> word_of_token(const std::string& token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const std::size_t size = (static_cast<std::uint8_t>(token[at]) & 0x80) == 0 ? 1 : 2;
    const auto found = bytes_of_letters().find(token.substr(at, size));
    if (found == bytes_of_letters().end()) return std::nullopt;
    bytes += static_cast<char>(found->second);
    at += size;
  }
  return bytes;
}

ByteTokens256 tokens_of_bytes(const TokenNumbers& numbers, const std::string& name) {
  ByteTokens256 tokens{};
  for (const auto& [letter, byte] : bytes_of_letters()) {
    const auto found = numbers.find(letter);
    if (found == numbers.end())
      throw Error(ExitCode::kBadData, name + " has no token for byte " + std::to_string(byte) +
                                          ", so it is no byte-level vocabulary: name another with --vocabulary");
    tokens[byte] = found->second;
  }
  return tokens;
}

// In UTF-16. Each byte that is no UTF-8 becomes U+FFFD.
std::u16string units_of(std::span<const std::uint8_t> text) {
  std::u16string units;
  units.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = utf8_character_at(text, at);
    if (code > 0xFFFF) {
      units += static_cast<char16_t>(0xD800 + ((code - 0x10000) >> 10));
      units += static_cast<char16_t>(0xDC00 + (code & 0x3FF));
    } else {
      units += static_cast<char16_t>(code < 0 ? 0xFFFD : code);
    }
    at += bytes;
  }
  return units;
}

// The text in NFC. A byte that is no UTF-8 stays, and characters on its two sides are not composed.
std::string compose(std::span<const std::uint8_t> text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const nfc = icu::Normalizer2::getNFCInstance(status);
  std::string composed;
  icu::StringByteSink<std::string> sink(&composed);
  for (std::size_t begin = 0, at = 0; begin < text.size() && U_SUCCESS(status) != 0; begin = at) {
    while (at < text.size() && utf8_character_at(text, at).code >= 0) at += utf8_character_at(text, at).bytes;
    const icu::StringPiece run(reinterpret_cast<const char*>(text.data()) + begin,
                               static_cast<std::int32_t>(at - begin));
    nfc->normalizeUTF8(0, run, sink, nullptr, status);
    if (at < text.size()) composed += static_cast<char>(text[at++]);
  }
  if (U_FAILURE(status) != 0)
    throw Error(ExitCode::kInternal, std::string("ICU cannot normalise: ") + u_errorName(status));
  return composed;
}

class ByteLevelVocabulary final : public TableVocabulary {
 public:
  ByteLevelVocabulary(TokenizerText text, PairMerges merges, const ByteTokens256& first, TokenTable table)
      : TableVocabulary(std::move(table)),
        merges_(std::move(merges)),
        encoder_(merges_),
        first_(first),
        composes_(text.composes),
        cuts_(std::move(text.cuts)),
        cuts_as_gpt2_(text.cuts_as_gpt2),
        added_(text.added_tokens, false, [](std::string_view token) { return std::string(token); }),
        normalized_added_(text.added_tokens, true, [&](std::string_view token) {
          return composes_ ? compose(bytes_in(token)) : std::string(token);
        }) {
    if (!text.takes_whole_words) return;
    for (const auto& [token, number] : text.numbers) {
      if (const auto word = word_of_token(token)) encoder_.remember(*word, number);
    }
  }

  void encode(std::span<const std::uint8_t> text, std::vector<std::int32_t>& tokens) override {
    const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
    added_.split(all, [&](std::string_view part, std::int32_t token) {
      if (token != kNoLabel) return tokens.push_back(token);
      if (!composes_) return encode_composed(part, tokens);
      require_size(part.size());
      encode_composed(compose(bytes_in(part)), tokens);
    });
  }

 private:
  // ICU counts with 32 bits.
  static void require_size(std::size_t bytes) {
    if (bytes <= std::numeric_limits<std::int32_t>::max() / 2) return;
    throw Error(ExitCode::kBadData, "a text of " + count_text(static_cast<std::int64_t>(bytes), "byte") +
                                        " is more than this vocabulary takes at once: cut it into files below 1 GiB");
  }

  void encode_composed(std::string_view text, std::vector<std::int32_t>& tokens) {
    normalized_added_.split(text, [&](std::string_view part, std::int32_t token) {
      if (token != kNoLabel) return tokens.push_back(token);
      encode_between(bytes_in(part), tokens);
    });
  }

  // A text without added tokens.
  void encode_between(std::span<const std::uint8_t> text, std::vector<std::int32_t>& tokens) {
    if (cuts_.empty()) return encode_piece(text, tokens);
    require_size(text.size());
    const std::u16string units = units_of(text);
    std::vector<std::int32_t> ends = {static_cast<std::int32_t>(units.size())};
    for (RegularCut& cut : cuts_) cut.cut(units, ends);
    std::size_t at = 0;
    std::int32_t unit = 0;
    for (const std::int32_t end : ends) {
      const std::size_t begin = at;
      while (unit < end) {
        const auto [code, bytes] = utf8_character_at(text, at);
        unit += code > 0xFFFF ? 2 : 1;
        at += bytes;
      }
      encode_piece(text.subspan(begin, at - begin), tokens);
    }
  }

  void encode_piece(std::span<const std::uint8_t> piece, std::vector<std::int32_t>& tokens) {
    while (!piece.empty()) {
      const std::size_t size = cuts_as_gpt2_ ? first_word(piece) : piece.size();
      encode_word(piece.first(size), tokens);
      piece = piece.subspan(size);
    }
  }

  void encode_word(std::span<const std::uint8_t> word, std::vector<std::int32_t>& tokens) {
    const std::string_view text(reinterpret_cast<const char*>(word.data()), word.size());
    if (encoder_.encode_known(text, tokens)) return;
    first_of_word_.resize(word.size());
    std::ranges::transform(word, first_of_word_.begin(), [&](std::uint8_t byte) { return first_[byte]; });
    encoder_.encode_new(text, first_of_word_, tokens);
  }

  PairMerges merges_;
  WordEncoder encoder_;
  ByteTokens256 first_;  // of each byte
  bool composes_;
  std::vector<RegularCut> cuts_;
  bool cuts_as_gpt2_;
  AddedTokenSearch added_, normalized_added_;
  std::vector<std::int32_t> first_of_word_;
};

}  // namespace

std::unique_ptr<Vocabulary> make_byte_level(TokenizerText text, PairMerges merges, TokenTable table,
                                            const std::string& name) {
  const ByteTokens256 first = tokens_of_bytes(text.numbers, name);
  for (const auto& [token, number] : text.numbers)
    table.bytes[static_cast<std::size_t>(number)] = word_of_token(token).value_or(token);
  for (const auto& [token, number] : text.added) table.bytes[static_cast<std::size_t>(number)] = token;
  return std::make_unique<ByteLevelVocabulary>(std::move(text), std::move(merges), first, std::move(table));
}

}  // namespace eave
