// Encodes strings for test/data/tokens/reference_tokens_test: encode_strings VOCABULARY [lossy] < strings > numbers
//
// A string is its length, 4 bytes with the lowest first, and its bytes. For each, one line with the numbers of its
// tokens is written. Exit codes: 0, or 1 if the tokens of a string do not give its bytes back and the vocabulary is not
// said to be lossy.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "data/tokens/vocabulary.h"

int main(int count, char** words) {
  if (count != 2 && count != 3) return 64;
  const bool is_lossy = count == 3;
  const auto vocabulary = eave::open_vocabulary(words[1]);
  const std::string input((std::istreambuf_iterator<char>(std::cin)), {});
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(input.data());
  std::vector<std::int32_t> tokens;
  for (std::size_t at = 0; at + 4 <= input.size();) {
    const std::size_t size = bytes[at] | std::size_t{bytes[at + 1]} << 8 | std::size_t{bytes[at + 2]} << 16 |
                             std::size_t{bytes[at + 3]} << 24;
    tokens.clear();
    vocabulary->encode({bytes + at + 4, size}, tokens);
    std::string line, back;
    for (const std::int32_t token : tokens) {
      line += std::to_string(token) + " ";
      back += vocabulary->bytes_of(token);
    }
    std::puts(line.c_str());
    if (!is_lossy && back != input.substr(at + 4, size)) return 1;
    at += 4 + size;
  }
  return 0;
}
