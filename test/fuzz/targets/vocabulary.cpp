// The files of vocabularies, and text. The first byte says which.
#include <algorithm>
#include <string_view>

#include "data/tokens/byte_pairs.h"
#include "data/tokens/vocabulary_files.h"
#include "test/fuzz/fuzz.h"

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
  take_or_refuse([&] {
    if (bytes[0] % 4 == 0) static_cast<void>(parse_token_numbers(text, "fuzzed"));
    if (bytes[0] % 4 == 1 && parse_merges(text, "fuzzed").empty()) std::abort();
    if (bytes[0] % 4 == 2) {
      const VocabularyText vocabulary = parse_tokenizer_json(text, "fuzzed");
      for (const auto& [token, number] : vocabulary.numbers) {
        if (number < 0 || number >= kMostTokens) std::abort();
      }
    }
  });
  if (bytes[0] % 4 != 3) return;
  for (std::span<const std::uint8_t> rest = bytes.subspan(1); !rest.empty();) {
    const std::size_t size = first_word(rest);
    if (size == 0 || size > rest.size()) std::abort();
    rest = rest.subspan(size);
  }
}
