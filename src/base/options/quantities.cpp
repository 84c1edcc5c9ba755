#include "base/options/quantities.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/options/number_text.h"
#include "base/options/spelling.h"

namespace eave {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

// The first character that is not ASCII, as "U+00A0". Many such characters look like a blank, a comma or a minus.
std::string first_foreign_character(std::string_view text) {
  const auto first = std::ranges::find_if(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (first == text.end()) return "";
  const auto lead = static_cast<unsigned char>(*first);
  const int following = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  unsigned code = lead & (0x3Fu >> following);
  for (auto at = first + 1; at != text.end() && at - first <= following; ++at) {
    code = code << 6 | (static_cast<unsigned char>(*at) & 0x3Fu);
  }
  std::array<char, 16> hexadecimal{};
  std::snprintf(hexadecimal.data(), hexadecimal.size(), "U+%04X", code);
  return hexadecimal.data();
}

// Names an easily overlooked fault of a number, as "; …"; "" if there is none.
std::string advice_on(std::string_view text) {
  if (text.empty()) return "; nothing was given";
  if (const std::string foreign = first_foreign_character(text); !foreign.empty())
    return "; it contains the character " + foreign;
  if (text.find_first_of(kBlanks) != std::string_view::npos) return "; leave out the blank";
  if (text.find(',') != std::string_view::npos) return "; the decimal sign is a point, and thousands are not set apart";
  if (text.find('_') != std::string_view::npos) return "; thousands are not set apart";
  if (text.front() == '+') return "; leave out the +";
  if (lower_case(text).find("0x") != std::string::npos) return "; the digits are decimal";
  return "";
}

struct Quantity {
  double number = 0;
  std::string_view digits, unit;
};

std::optional<Quantity> split_unit(std::string_view text) {
  if (text.starts_with('-')) return std::nullopt;
  Quantity quantity;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  if (error != std::errc() || !std::isfinite(quantity.number)) return std::nullopt;
  const auto length = static_cast<std::size_t>(end - text.data());
  quantity.digits = text.substr(0, length);
  quantity.unit = text.substr(length);
  return quantity;
}

// Like advice_on, for a number with a unit.
std::string advice_on_amount(std::string_view text) {
  if (text.size() > 1 && text.front() == '-') return "; it cannot be negative";
  const std::string advice = advice_on(text);
  const auto quantity = split_unit(text);
  if (!advice.empty() || !quantity || quantity->unit.find_first_of("0123456789") == std::string_view::npos)
    return advice;
  return "; give one number with one unit";
}

struct Prefix {
  std::string_view text;
  double scale;
};

constexpr double kKibi = 1024, kKilo = 1000;
constexpr std::array<Prefix, 10> kPrefixes = {{{"Ki", kKibi},
                                               {"Mi", kKibi* kKibi},
                                               {"Gi", kKibi* kKibi* kKibi},
                                               {"Ti", kKibi* kKibi* kKibi* kKibi},
                                               {"k", kKilo},
                                               {"K", kKilo},
                                               {"M", kKilo* kKilo},
                                               {"G", kKilo* kKilo* kKilo},
                                               {"T", kKilo* kKilo* kKilo* kKilo},
                                               {"", 1}}};

template <std::size_t count>
bool is_one_of(std::string_view word, const std::array<std::string_view, count>& words) {
  return std::ranges::find(words, word) != words.end();
}

constexpr std::array<std::string_view, 2> kBits = {"b/s", "bps"}, kBytes = {"B/s", "Bps"};
constexpr std::array<std::string_view, 4> kWordsOfBits = {"bit", "bits", "bit/s", "bits/s"};

// Bytes per second of one unit. Letter case tells b (bits) from B (bytes). Words such as "bit" are clear in any case.
std::optional<double> rate_of_unit(std::string_view unit) {
  const std::string word = lower_case(unit);
  for (const auto& [prefix, scale] : kPrefixes) {
    if (unit.starts_with(prefix)) {
      if (is_one_of(unit.substr(prefix.size()), kBits)) return scale / 8;
      if (is_one_of(unit.substr(prefix.size()), kBytes)) return scale;
    }
    const std::string small = lower_case(prefix);
    if (!word.starts_with(small)) continue;
    const std::string_view rest = std::string_view(word).substr(small.size());
    if (is_one_of(rest, kWordsOfBits)) return scale / 8;
  }
  return std::nullopt;
}

// For a unit that would be right with other letter case or "/s": "10Gb/s for bits, or …". "" for other units.
std::string both_spellings(const Quantity& quantity) {
  const std::string word = lower_case(quantity.unit);
  for (const auto& [prefix, scale] : kPrefixes) {
    const std::string small = lower_case(prefix);
    if (prefix == "K" || !word.starts_with(small)) continue;
    const std::string rest = word.substr(small.size());
    const bool is_unit = rest == "b" || rest == "b/s" || rest == "bps" || (rest.empty() && !prefix.empty());
    if (!is_unit) continue;
    const std::string number = std::string(quantity.digits) + std::string(prefix);
    return number + "b/s for bits, or " + number + "B/s for bytes: b is bits, B is bytes";
  }
  return "";
}

// Bytes of one unit.
std::optional<double> size_of_unit(std::string_view unit) {
  constexpr std::string_view kLetters = "kmgt";
  const std::string word = lower_case(unit);
  if (unit.empty() || unit == "B") return 1;
  const std::size_t power = kLetters.find(word[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  const bool is_decimal = rest == "B";
  if (!is_decimal && !rest.empty() && rest != "i" && rest != "iB") return std::nullopt;
  return std::pow(is_decimal ? kKilo : kKibi, static_cast<double>(power + 1));
}

// The unit of a size in any letter case, spelt as in help: "GB" for "gb". "" if it is no such unit.
std::string spelt_size(std::string_view unit) {
  std::string spelt = lower_case(unit);
  for (char& c : spelt) {
    if (c != 'i' && c != 'k' && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (spelt.starts_with("ki")) spelt[0] = 'K';
  return size_of_unit(spelt) ? spelt : "";
}

constexpr std::array<Prefix, 7> kTimeUnits = {
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}}};

std::optional<double> seconds_of_unit(std::string_view unit) {
  const auto found = std::ranges::find(kTimeUnits, unit, &Prefix::text);
  return found == kTimeUnits.end() ? std::nullopt : std::optional(found->scale);
}

// The unit of a time that people spell in another way, spelt as in help: "s" for "sec". "" if it is no such unit.
std::string spelt_time(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOthers = {{{"s", " sec secs second seconds "},
                                                                                     {"min", " mins minute minutes "},
                                                                                     {"h", " hr hrs hour hours "},
                                                                                     {"ms", " msec "},
                                                                                     {"us", " usec \u00b5s \u03bcs "}}};
  const std::string word = lower_case(unit);
  if (seconds_of_unit(word)) return word;
  for (const auto& [right, others] : kOthers) {
    if (!word.empty() && others.find(" " + word + " ") != std::string_view::npos) return std::string(right);
  }
  return "";
}

std::string with_prefix(double value, const char* unit) {
  constexpr std::array<const char*, 5> kBefore = {"", "k", "M", "G", "T"};
  std::size_t power = 0;
  for (; value >= kKilo && power + 1 < kBefore.size(); ++power) value /= kKilo;
  return number_text(value) + " " + kBefore[power] + unit;
}

}  // namespace

Reading<bool> read_flag(std::string_view text) {
  if (text == "on") return {true};
  if (text == "off") return {false};
  return {std::nullopt, "on or off"};
}

Reading<std::int64_t> read_integer(std::string_view text) {
  const auto number = parse_number<std::int64_t>(text);
  if (number) return {number};
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_beyond = !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  if (is_beyond)
    return {std::nullopt,
            "a whole number " + (digits.size() < text.size() ? "of at least " + std::to_string(INT64_MIN)
                                                             : "of at most " + std::to_string(INT64_MAX))};
  return {std::nullopt, "a whole number" + advice_on(text)};
}

Reading<double> read_real(std::string_view text) {
  constexpr double kLeast = std::numeric_limits<float>::min(), kMost = std::numeric_limits<float>::max();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = end == text.data() + text.size();
  const double size = std::abs(number);
  if (is_whole && error == std::errc() && (size == 0 || (size >= kLeast && size <= kMost))) return {number};
  const bool is_beyond = is_whole && (error == std::errc::result_out_of_range || std::isfinite(number));
  return {std::nullopt, "a finite number, such as 0.1 or 1e-3" +
                            (is_beyond && error != std::errc::invalid_argument
                                 ? "; of 32-bit numbers, 1.2e-38 is the smallest and 3.4e38 the largest"
                                 : advice_on(text))};
}

Reading<std::int64_t> read_bytes(std::string_view text) {
  constexpr double kMost = 1152921504606846976.0;  // 2^60
  const auto quantity = split_unit(text);
  const auto unit = quantity ? size_of_unit(quantity->unit) : std::nullopt;
  if (unit) {
    const double bytes = quantity->number * *unit;
    const bool is_whole = *unit > 1 || bytes == std::floor(bytes);
    if (bytes <= kMost && is_whole && (bytes == 0 || bytes >= 1)) return {std::llround(bytes)};
    return {std::nullopt, bytes > kMost ? "a size of at most 1048576T" : "a whole number of bytes"};
  }
  if (const std::string spelt = quantity ? spelt_size(quantity->unit) : ""; !spelt.empty()) {
    const std::string right = std::string(quantity->digits) + spelt;
    return {std::nullopt, quantity->unit.ends_with('b')
                              ? "a size in bytes, such as " + right + ": B is bytes, b would be bits"
                              : "a size, such as " + right};
  }
  return {std::nullopt, "a size, such as 64k, 4MiB or 1GB" + advice_on_amount(text)};
}

Reading<double> read_seconds(std::string_view text) {
  constexpr double kLeast = 1e-9, kMost = 1e9;
  const auto quantity = split_unit(text);
  if (quantity && quantity->number == 0 && quantity->unit.empty()) return {0.0};
  const auto unit = quantity ? seconds_of_unit(quantity->unit) : std::nullopt;
  if (unit) {
    const double seconds = quantity->number * *unit;
    if (seconds == 0 || (seconds >= kLeast * (1 - 1e-9) && seconds <= kMost)) return {seconds};
    return {std::nullopt, "a time from 1ns to 1000000000s"};
  }
  if (const std::string spelt = quantity ? spelt_time(quantity->unit) : ""; !spelt.empty())
    return {std::nullopt, "a time with its unit, such as " + std::string(quantity->digits) + spelt};
  return {std::nullopt, "a time with its unit, such as 5ms, 2s, 10m or 1h" + advice_on_amount(text)};
}

Reading<double> read_rate(std::string_view text) {
  constexpr double kLeast = 0.125, kMost = 1e15;
  const auto quantity = split_unit(text);
  if (quantity && quantity->number == 0 && quantity->unit.empty()) return {0.0};
  const auto unit = quantity ? rate_of_unit(quantity->unit) : std::nullopt;
  if (unit) {
    const double rate = quantity->number * *unit;
    if (rate == 0 || (rate >= kLeast && rate <= kMost)) return {rate};
    return {std::nullopt, "a rate from 1bit/s to 1000TB/s"};
  }
  const std::string both = quantity ? both_spellings(*quantity) : "";
  if (!both.empty()) return {std::nullopt, both};
  return {std::nullopt, "a rate with its unit, such as 100mbit, 10Gb/s or 1.25GB/s" + advice_on_amount(text)};
}

std::string bits_per_second_text(double bytes_per_second) { return with_prefix(8 * bytes_per_second, "bit/s"); }

std::string bit_rate_text(double bytes_per_second) {
  return bits_per_second_text(bytes_per_second) + " (" + with_prefix(bytes_per_second, "B/s") + ")";
}

std::string decimal_text(double value, int decimals) {
  std::array<char, 400> text{};  // a double has at most 309 digits before the point
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  if (value != 0 && std::string_view(text.data()).find_first_of("123456789in") == std::string_view::npos)
    std::snprintf(text.data(), text.size(), "%.2g", value);
  return text.data();
}

std::string duration_text(double seconds) {
  if (seconds >= 1 || seconds == 0) return number_text(seconds) + " s";
  return seconds >= 1e-3 ? number_text(1e3 * seconds) + " ms" : number_text(1e6 * seconds) + " us";
}

namespace {

// Reads a flag as runs of earlier versions recorded it.
Reading<bool> read_recorded_flag(std::string_view text) {
  const std::string word = lower_case(text);
  if (word == "on" || word == "true" || word == "yes" || word == "1") return {true};
  if (word == "off" || word == "false" || word == "no" || word == "0") return {false};
  return {};
}

}  // namespace

bool is_same_value(std::string_view a, std::string_view b) {
  const auto agree = [&](const auto& read) {
    const auto first = read(a), second = read(b);
    return first.value && second.value && *first.value == *second.value;
  };
  // Different large integers would be equal as doubles.
  if (read_integer(a).value && read_integer(b).value) return agree(read_integer);
  return a == b || agree(read_recorded_flag) || agree(read_real) || agree(read_bytes) || agree(read_seconds) ||
         agree(read_rate);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace eave
