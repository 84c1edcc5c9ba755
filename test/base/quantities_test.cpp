#include "base/options/quantities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "test/expectations.h"

namespace eave {
namespace {

const std::vector<std::string> kNeverNumbers = {
    "",   "-",       "x",       "nan",     "inf",   "-inf", "infinity", "0x10",   "+5",  "0,1", "1.000,5", " 5",
    "5 ", "5\u00a0", "\u00a05", "\u22125", "1_000", "5\n",  "1e400",    "1e-400", "--5", "5e",  "1.2.3",   "\uff15"};

TEST(Quantities, whole_numbers_are_decimal_digits_alone) {
  EXPECT_EQ(read_integer("0").value, 0);
  EXPECT_EQ(read_integer("-7").value, -7);
  EXPECT_EQ(read_integer("9223372036854775807").value, INT64_MAX);
  for (const std::string& text : kNeverNumbers) EXPECT_FALSE(read_integer(text).value) << "'" << text << "'";
  for (const char* text : {"1.5", "1e3", "9223372036854775808", "5k"}) EXPECT_FALSE(read_integer(text).value) << text;
}

TEST(Quantities, whole_numbers_beyond_64_bits_are_told_the_range) {
  EXPECT_EQ(read_integer("18446744073709551616").expected, "a whole number of at most 9223372036854775807");
  EXPECT_EQ(read_integer("-9223372036854775809").expected, "a whole number of at least -9223372036854775808");
  EXPECT_EQ(read_integer("99x").expected, "a whole number");
}

TEST(Quantities, numbers_that_32_bits_would_make_0_or_infinite_are_refused) {
  EXPECT_EQ(read_real("0.1").value, 0.1);
  EXPECT_EQ(read_real("-1e-3").value, -1e-3);
  EXPECT_EQ(read_real("0e9").value, 0);
  for (const std::string& text : kNeverNumbers) EXPECT_FALSE(read_real(text).value) << "'" << text << "'";
  for (const char* text : {"1e-50", "-1e-50", "1e39", "-1e39"}) {
    EXPECT_FALSE(read_real(text).value) << text;
    EXPECT_TRUE(says(read_real(text).expected, "of 32-bit numbers"));
  }
}

TEST(Quantities, what_is_easily_overlooked_in_a_number_is_named) {
  const std::map<std::string, std::string> cases = {{"0,1", "the decimal sign is a point"},
                                                    {"5\u00a0", "U+00A0"},
                                                    {"\u22125", "U+2212"},
                                                    {"\uff15", "U+FF15"},
                                                    {"\U0001D7D5", "U+1D7D5"},
                                                    {"+5", "leave out the +"},
                                                    {"0x10", "the digits are decimal"},
                                                    {"5 k", "leave out the blank"},
                                                    {"", "nothing was given"}};
  for (const auto& [text, words] : cases) {
    for (const std::string& expected :
         {read_integer(text).expected, read_real(text).expected, read_bytes(text).expected, read_seconds(text).expected,
          read_rate(text).expected})
      EXPECT_TRUE(says(expected, words)) << "'" << text << "': " << expected;
  }
}

TEST(Quantities, b_is_bits_and_B_is_bytes_in_a_rate) {
  const std::map<std::string, double> cases = {{"8bit/s", 1},
                                               {"8bps", 1},
                                               {"8b/s", 1},
                                               {"8B/s", 8},
                                               {"8bit", 1},
                                               {"8bits", 1},
                                               {"8bits/s", 1},

                                               {"10Gb/s", 1.25e9},
                                               {"10Gbps", 1.25e9},
                                               {"10Gbit/s", 1.25e9},
                                               {"10gbit", 1.25e9},
                                               {"10GBIT", 1.25e9},
                                               {"10GB/s", 1e10},
                                               {"10GBps", 1e10},
                                               {"100mbit", 12.5e6},
                                               {"100Mb/s", 12.5e6},
                                               {"100Mbps", 12.5e6},
                                               {"12.5MB/s", 12.5e6},
                                               {"8kb/s", 1e3},
                                               {"8kbps", 1e3},
                                               {"8kB/s", 8e3},
                                               {"8KB/s", 8e3},
                                               {"1Tb/s", 125e9},
                                               {"1TB/s", 1e12},
                                               {"8Kib/s", 1024},
                                               {"8KiB/s", 8192},
                                               {"8Mibit/s", 1048576},
                                               {"1MiB/s", 1048576},
                                               {"8Gib/s", 1073741824},
                                               {"1GiB/s", 1073741824.},
                                               {"8Tib/s", std::pow(2, 40)},
                                               {"1TiBps", std::pow(2, 40)},
                                               {"0", 0},
                                               {"1e3Mb/s", 125e6}};
  for (const auto& [text, rate] : cases) {
    const Reading<double> reading = read_rate(text);
    ASSERT_TRUE(reading.value) << text << ": " << reading.expected;
    EXPECT_DOUBLE_EQ(*reading.value, rate) << text;
  }
}

TEST(Quantities, a_rate_whose_letter_case_hides_bits_or_bytes_is_refused_with_both_spellings) {
  for (const char* unit : {"gb/s", "GBPS", "gbps", "GB/S", "gB/s", "Gb/S", "GB", "Gb", "G", "g"}) {
    const Reading<double> reading = read_rate(std::string("10") + unit);
    EXPECT_FALSE(reading.value) << unit;
    EXPECT_EQ(reading.expected, "10Gb/s for bits, or 10GB/s for bytes: b is bits, B is bytes") << unit;
  }
  EXPECT_EQ(read_rate("100mb/s").expected, "100Mb/s for bits, or 100MB/s for bytes: b is bits, B is bytes");
  EXPECT_EQ(read_rate("1.5mbps").expected, "1.5Mb/s for bits, or 1.5MB/s for bytes: b is bits, B is bytes");
  EXPECT_EQ(read_rate("4gib/s").expected, "4Gib/s for bits, or 4GiB/s for bytes: b is bits, B is bytes");
  EXPECT_EQ(read_rate("8BPS").expected, "8b/s for bits, or 8B/s for bytes: b is bits, B is bytes");
}

TEST(Quantities, sizes_are_bytes) {
  const std::map<std::string, std::int64_t> cases = {{"0", 0},
                                                     {"4096", 4096},
                                                     {"512B", 512},
                                                     {"64k", 65536},
                                                     {"64K", 65536},
                                                     {"64KiB", 65536},
                                                     {"64Ki", 65536},
                                                     {"64kB", 64000},
                                                     {"64KB", 64000},
                                                     {"25MB", 25'000'000},
                                                     {"4MiB", 4194304},
                                                     {"4m", 4194304},
                                                     {"1G", 1073741824},
                                                     {"1GB", 1'000'000'000},
                                                     {"1.1GB", 1'100'000'000},
                                                     {"0.5k", 512},
                                                     {"2T", 2199023255552},
                                                     {"1TB", 1'000'000'000'000},
                                                     {"7 bytes", -1},
                                                     {"7bytes", -1},
                                                     {"1048576T", std::int64_t{1} << 60}};
  for (const auto& [text, bytes] : cases) {
    EXPECT_EQ(read_bytes(text).value.value_or(-1), bytes) << text << ": " << read_bytes(text).expected;
  }
  for (const char* text : {"64kb", "1gb", "512b", "10Gb", "4Mib"}) {
    EXPECT_FALSE(read_bytes(text).value) << text;
    EXPECT_TRUE(says(read_bytes(text).expected, "b would be bits"));
  }
  EXPECT_TRUE(says(read_bytes("10Gb").expected, "such as 10GB"));
}

TEST(Quantities, times_have_a_unit_and_a_minute_is_m_or_min) {
  const std::map<std::string, double> cases = {{"0", 0},      {"0s", 0},    {"10m", 600},  {"10min", 600},
                                               {"90s", 90},   {"1h", 3600}, {"5ms", 5e-3}, {"50us", 50e-6},
                                               {"7ns", 7e-9}, {"0.5m", 30}};
  for (const auto& [text, seconds] : cases) {
    ASSERT_TRUE(read_seconds(text).value) << text << ": " << read_seconds(text).expected;
    EXPECT_DOUBLE_EQ(*read_seconds(text).value, seconds) << text;
  }
  for (const char* text :
       {"5", "10M", "10d", "1:30", "1h30m", "2e9s", "1e300h", "0.1ns", "5 m", "S", "s", "90sec", "10Min", "5\u00b5s"})
    EXPECT_FALSE(read_seconds(text).value) << text;
}

TEST(Quantities, what_cannot_be_an_amount_is_refused) {
  for (const std::string& text : kNeverNumbers) {
    for (const char* unit : {"", "GB", "GB/s", "Gb/s", "s"}) {
      const std::string all = text + unit;
      EXPECT_FALSE(read_rate(all).value) << "'" << all << "'";
      EXPECT_FALSE(read_seconds(all).value) << "'" << all << "'";
      EXPECT_FALSE(read_bytes(all).value) << "'" << all << "'";
    }
  }
  for (const char* text : {"-1", "-0", "-1GB", "1e300GB", "2e9GB", "0.3", "1.5B", "3 parsecs", "1e-9k", "4MiBx"})
    EXPECT_FALSE(read_bytes(text).value) << text;
  for (const char* text : {"-1GB/s", "1e300GB/s", "1e16B/s", "0.1bit/s", "10", "fast", "1GB/min", "1Gb/s/s", "10GB/sx"})
    EXPECT_FALSE(read_rate(text).value) << text;
}

TEST(Quantities, two_spellings_of_one_value_are_the_same) {
  for (const auto& [a, b] :
       std::vector<std::pair<std::string, std::string>>{{"0.1", "0.10"},
                                                        {"1e-3", "0.001"},
                                                        {"10m", "10min"},
                                                        {"64k", "64KiB"},
                                                        {"on", "true"},  // in a run of an earlier version
                                                        {"10Gb/s", "10gbit"},
                                                        {"8", "08"},
                                                        {"", ""},
                                                        {"not set", "not set"}})
    EXPECT_TRUE(is_same_value(a, b)) << a << " " << b;
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{{"0.1", "0.11"},
                                                                             {"10m", "10s"},
                                                                             {"64k", "64kB"},
                                                                             {"on", "off"},
                                                                             {"10Gb/s", "10GB/s"},
                                                                             {"", "0"},
                                                                             {"sgd", "adamw"},
                                                                             {"9007199254740993", "9007199254740994"}})
    EXPECT_FALSE(is_same_value(a, b)) << a << " " << b;
}

TEST(Quantities, a_unit_in_other_letters_is_refused_with_the_one_that_help_lists) {
  const std::map<std::string, std::string> sizes = {{"10gb", "10GB"},   {"10Gb", "10GB"},   {"1mb", "1MB"},
                                                    {"64kb", "64kB"},   {"64Kb", "64kB"},   {"1tib", "1TiB"},
                                                    {"64kib", "64KiB"}, {"1TIB", "1TiB"},   {"1.5GIB", "1.5GiB"},
                                                    {"512b", "512B"},   {"64KIb", "64KiB"}, {"2GI", "2Gi"}};
  for (const auto& [text, right] : sizes) {
    EXPECT_FALSE(read_bytes(text).value) << text;
    EXPECT_TRUE(read_bytes(text).expected.ends_with("such as " + right) ||
                read_bytes(text).expected.find("such as " + right + ": B is bytes") != std::string::npos)
        << text << ": " << read_bytes(text).expected;
    EXPECT_TRUE(read_bytes(right).value) << right;
  }
  const std::map<std::string, std::string> times = {{"10Min", "10min"}, {"10M", "10m"},       {"5S", "5s"},
                                                    {"90sec", "90s"},   {"2 hours", "blank"}, {"2hours", "2h"},
                                                    {"1MS", "1ms"},     {"5\u00b5s", "5us"},  {"1.5Hr", "1.5h"}};
  for (const auto& [text, right] : times) {
    EXPECT_FALSE(read_seconds(text).value) << text;
    EXPECT_TRUE(read_seconds(text).expected.ends_with(right)) << text << ": " << read_seconds(text).expected;
  }
}

// Each unit of the help, by itself, and with the letter case that it allows.
TEST(Quantities, the_units_that_help_lists_are_those_that_are_read) {
  const auto units_of = [](const std::string& forms) {
    std::vector<std::string> units;
    std::string word;
    for (const char c : forms.substr(forms.find(':')) + " ") {
      if (c != ' ' && c != ',' && c != ':' && c != ';') {
        word += c;
        continue;
      }
      if (!word.empty()) units.push_back(word);
      word.clear();
    }
    return units;
  };
  const auto lists = [&](const char* forms, const std::string& unit) {
    const std::vector<std::string> units = units_of(forms);
    return std::find(units.begin(), units.end(), unit) != units.end();
  };
  for (const std::string prefix : {"", "k", "K", "m", "M", "g", "G", "t", "T", "p", "P"}) {
    for (const std::string rest : {"", "B", "b", "i", "I", "iB", "IB", "ib", "ytes"}) {
      std::string listed = prefix + rest;
      if (!prefix.empty()) listed[0] = prefix == "k" || prefix == "K" ? 'k' : char(std::toupper(prefix[0]));
      if (listed.starts_with("ki")) listed[0] = 'K';
      const bool is_listed = listed.empty() || lists(kSizeForms, listed);
      EXPECT_EQ(read_bytes("1" + prefix + rest).value.has_value(), is_listed) << prefix + rest;
    }
  }
  for (const std::string unit : {"ns", "us", "ms", "s", "m", "min", "h", "d", "sec", "M", "S", "H", "minutes"})
    EXPECT_EQ(read_seconds("1" + unit).value.has_value(), lists(kTimeForms, unit)) << unit;
  for (const std::string prefix : {"", "k", "K", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "m", "g", "ki"}) {
    for (const std::string rest : {"b/s", "bps", "B/s", "Bps", "bit", "bits", "bit/s", "bits/s", "B", "", "bytes/s"}) {
      const bool is_listed =
          lists(kRateForms, rest) && (prefix.empty() || lists(kRateForms, prefix) || rest.starts_with("bit"));
      EXPECT_EQ(read_rate("8" + prefix + rest).value.has_value(), is_listed) << prefix + rest;
    }
  }
}

TEST(Quantities, what_makes_an_amount_unreadable_is_named) {
  const std::map<std::string, std::string> cases = {
      {"-5s", "cannot be negative"}, {"-0", "cannot be negative"},         {"1h30m", "one number with one unit"},
      {"1_000s", "not set apart"},   {"1,5GB", "decimal sign is a point"}, {"10 Gbit/s", "leave out the blank"},
      {"+5s", "leave out the +"},    {"0x10s", "digits are decimal"},      {"", "nothing was given"}};
  for (const auto& [text, words] : cases) {
    for (const std::string& expected :
         {read_bytes(text).expected, read_seconds(text).expected, read_rate(text).expected})
      EXPECT_TRUE(says(expected, words)) << "'" << text << "': " << expected;
  }
  EXPECT_EQ(read_seconds("1e3parsec").expected, "a time with its unit, such as 5ms, 2s, 10m or 1h");
}

TEST(Quantities, a_number_may_begin_or_end_with_its_point) {
  EXPECT_EQ(read_seconds(".5h").value, 1800);
  EXPECT_EQ(read_seconds("5.s").value, 5);
  EXPECT_EQ(read_bytes("1e3MB").value, 1'000'000'000);
  EXPECT_EQ(read_rate("1e3Mbit").value, 125e6);
}

TEST(Quantities, a_flag_is_one_of_the_two_words_that_help_lists) {
  EXPECT_EQ(read_flag("on").value, true);
  EXPECT_EQ(read_flag("off").value, false);
  for (const char* text : {"1", "0", "yes", "no", "true", "false", "ON", "Off", "True", "y", "", "enable"}) {
    EXPECT_FALSE(read_flag(text).value) << text;
    EXPECT_EQ(read_flag(text).expected, "on or off");
  }
}

TEST(Quantities, only_0_is_printed_as_0) {
  EXPECT_EQ(decimal_text(12.34, 1), "12.3");
  EXPECT_EQ(decimal_text(0, 1), "0.0");
  EXPECT_EQ(decimal_text(0.04, 1), "0.04");
  EXPECT_EQ(decimal_text(-0.000345, 2), "-0.00034");
  EXPECT_EQ(decimal_text(0.125, 0), "0.12");
  EXPECT_EQ(decimal_text(3e-9, 3), "3e-09");
  EXPECT_EQ(decimal_text(1e300, 0).size(), 301u);
}

TEST(Quantities, a_rate_is_printed_in_bits_and_in_bytes) {
  EXPECT_EQ(bit_rate_text(1.25e9), "10 Gbit/s (1.25 GB/s)");
  EXPECT_EQ(bit_rate_text(12.5e6), "100 Mbit/s (12.5 MB/s)");
  EXPECT_EQ(bit_rate_text(1), "8 bit/s (1 B/s)");
}

}  // namespace
}  // namespace eave
