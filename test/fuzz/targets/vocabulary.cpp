// The files of vocabularies, and text. The first byte says which.
#include <algorithm>
#include <functional>
#include <string_view>

#include "data/tokens/byte_pairs.h"
#include "data/tokens/regular_cut.h"
#include "data/tokens/tokenizer_json.h"
#include "test/fuzz/fuzz.h"

namespace {

// A pattern, and behind a line end the text to cut.
void fuzz_cut(std::string_view bytes) {
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  eave::RegularCut cut({std::string(bytes.substr(0, line))}, "fuzzed");
  const std::string_view letters = bytes.substr(line);
  const std::u16string text(letters.begin(), letters.end());
  std::vector<std::int32_t> ends = {static_cast<std::int32_t>(text.size())};
  cut.cut(text, ends);
  if (!std::ranges::is_sorted(ends, std::less_equal()) || (!text.empty() && ends.back() != std::ssize(text)))
    std::abort();
}

}  // namespace

void eave::fuzz(Bytes bytes) {
  if (bytes.empty()) return;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1);
  take_or_refuse([&] {
    if (bytes[0] % 5 == 0) static_cast<void>(parse_token_numbers(text, "fuzzed"));
    if (bytes[0] % 5 == 1 && parse_merges(text, "fuzzed").empty()) std::abort();
    if (bytes[0] % 5 == 2) {
      const TokenizerText vocabulary = parse_tokenizer_json(text, "fuzzed");
      for (const TokenNumbers* numbers : {&vocabulary.numbers, &vocabulary.added}) {
        for (const auto& [token, number] : *numbers) {
          if (number < 0 || number >= kMostTokens) std::abort();
        }
      }
    }
    if (bytes[0] % 5 == 4) fuzz_cut(text);
  });
  if (bytes[0] % 5 != 3) return;
  for (std::span<const std::uint8_t> rest = bytes.subspan(1); !rest.empty();) {
    const std::size_t size = first_word(rest);
    if (size == 0 || size > rest.size()) std::abort();
    rest = rest.subspan(size);
  }
}
