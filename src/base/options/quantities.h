// Reads and writes numbers, sizes, times and rates as people type them. Each kind has one grammar, which all options,
// lists and files use.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace eave {

// The value of a text, or a description of a right one.
template <typename Value>
struct Reading {
  std::optional<Value> value = std::nullopt;
  std::string expected = "";  // without a value: completes "expected …"
};

// The spellings of each kind, for help.
inline constexpr const char* kSizeForms =
    "such as 4096, 64k, 4MiB or 1GB: k, M, G, T, Ki, Mi, Gi, Ti and KiB, MiB, GiB, TiB count by 1024; kB, MB, GB, TB "
    "count by 1000. The letters k, M, G, T may be in either case. A number alone or with B is bytes";
inline constexpr const char* kTimeForms = "such as 50us, 5ms, 2s, 10m, 10min or 1h: ns, us, ms, s, m or min, h";
inline constexpr const char* kRateForms =
    "such as 100mbit, 10Gb/s, 10Gbps or 1.25GB/s: b/s, bps, bit, bits, bit/s and bits/s are bits, B/s and Bps are "
    "bytes per second; k or K, M, G, T count by 1000, Ki, Mi, Gi, Ti by 1024; letter case matters except in bit";

// All of `text` as a number; nullopt if it is none, or too large for a Number.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

Reading<bool> read_flag(std::string_view text);  // on or off

// Each reads the whole `text`, which must have no blanks. Digits are decimal, with a point and an exponent if the kind
// has fractions. The only sign is -. Commas and hexadecimal digits are refused, in any locale.
Reading<std::int64_t> read_integer(std::string_view text);
// The number is finite. As a 32-bit float it must not become infinite, nor 0 unless it is 0: 1e-400, 1e-50 and 1e39 are
// refused.
Reading<double> read_real(std::string_view text);
Reading<std::int64_t> read_bytes(std::string_view text);  // 0 to 2^60
Reading<double> read_seconds(std::string_view text);      // 0, or 1 ns to 1e9 s
Reading<double> read_rate(std::string_view text);         // bytes per second: 0, or 1 bit/s to 1e15 B/s

std::string bits_per_second_text(double bytes_per_second);  // "10 Gbit/s"
std::string bit_rate_text(double bytes_per_second);         // "10 Gbit/s (1.25 GB/s)"
std::string duration_text(double seconds);                  // "50 us", "5 ms", "90 s"
// Writes `value` with this many decimals. If that would show a value other than 0 as 0, it has 2 significant digits:
// "0.00034".
std::string decimal_text(double value, int decimals);

// Whether two texts of one option mean the same: 0.1 and 0.10, 10m and 10min, 64k and 64KiB. Runs of earlier versions
// recorded true for on, so these two are the same as well.
bool is_same_value(std::string_view a, std::string_view b);

// Returns `text` without the blanks around it.
std::string_view trimmed(std::string_view text);

}  // namespace eave
