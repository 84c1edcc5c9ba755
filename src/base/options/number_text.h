// Numbers for people: their text in messages, independent of the locale (0.225, 1e-05, 12345.7), and what stands for
// many of them.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace eave {

// Up to `digits` significant digits, without trailing zeros.
inline std::string number_text(double value, int digits = 6) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits);
  return {text.data(), result.ptr};
}

// As many digits as it takes to read back the same number: 1.0000001.
template <typename Number>
std::string shortest_text(Number value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// The shortest text that is read as the same float: number_text() if that is one, as in 500000, else 1234567 or
// 0.3333333.
inline std::string exact_text(float value) {
  const std::string usual = number_text(double{value});
  float read = 0;
  std::from_chars(usual.data(), usual.data() + usual.size(), read);
  return read == value ? usual : shortest_text(value);
}

// "1 host", "2 hosts"
inline std::string count_text(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Of at least one number.
inline double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace eave
