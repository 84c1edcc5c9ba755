// Writes numbers for messages, independent of the locale: 0.225, 1e-05, 12345.7.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>

namespace eave {

// Up to six significant digits, without trailing zeros.
inline std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return {text.data(), result.ptr};
}

// "1 host", "2 hosts"
inline std::string count_text(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace eave
