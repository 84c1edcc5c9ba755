// Reads characters of UTF-8 from texts that may be any bytes.
#pragma once

#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace eave {

inline std::span<const std::uint8_t> bytes_in(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

struct Utf8Character {
  UChar32 code;  // below 0: a byte that is no UTF-8, which stands alone
  std::size_t bytes;
};

// The character that begins at `at`, which is below the size of the text.
inline Utf8Character utf8_character_at(std::span<const std::uint8_t> text, std::size_t at) {
  if (text[at] < 0x80) return {text[at], 1};
  // A character has at most 4 bytes, so the macro need not count beyond.
  const auto rest = text.subspan(at, std::min<std::size_t>(4, text.size() - at));
  std::int32_t bytes = 0;
  UChar32 code = 0;
  U8_NEXT(rest.data(), bytes, static_cast<std::int32_t>(rest.size()), code);
  return {code, code < 0 ? 1 : static_cast<std::size_t>(bytes)};
}

}  // namespace eave
