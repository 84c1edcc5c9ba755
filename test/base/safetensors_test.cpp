// Headers of safetensors files that promise more, or other, than the file holds.
#include "base/formats/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <vector>

#include "base/hash.h"
#include "eave/check.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

// Why read_safetensors refuses the file at `path`; "" if it reads it.
std::string refusal_of_file(const std::filesystem::path& path) {
  const Error error = error_of([&] { read_safetensors(path); });
  EXPECT_TRUE(error.code() == ExitCode::kBadData || error.code() == ExitCode::kDone) << error.what();
  return error.what();
}

std::string refusal_of(const std::string& shape, int values) {
  const TemporaryDirectory directory;
  const std::string header =
      R"({"a": {"dtype": "F32", "shape": )" + shape + R"(, "data_offsets": [0, )" + std::to_string(4 * values) + "]}}";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  const std::filesystem::path path = directory.path() / "file";
  std::ofstream(path, std::ios::binary) << bytes << header << std::string(static_cast<std::size_t>(4 * values), '\0');
  return refusal_of_file(path);
}

TEST(Safetensors, takes_shapes_that_are_as_large_as_the_file) {
  for (const std::string shape : {"[6]", "[2, 3]", "[1, 1, 1, 1, 1, 1, 2, 3]"}) EXPECT_EQ(refusal_of(shape, 6), "");
  EXPECT_EQ(refusal_of("[0, 3]", 0), "");
  EXPECT_EQ(refusal_of("[]", 1), "");
}

TEST(Safetensors, refuses_shapes_that_the_file_cannot_hold) {
  for (const std::string shape : {"[7]", "[2, 4]", "[18446744073709551615]", "[4294967296, 4294967296]",
                                  "[2147483648, 2147483648, 4]", "[-1]", "[4611686018427387905]"}) {
    EXPECT_NE(refusal_of(shape, 1), "") << shape;
  }
  EXPECT_TRUE(says(refusal_of("[5]", 6), "does not fit its shape"));
}

TEST(Safetensors, reads_values_whose_place_is_no_multiple_of_4) {
  const TemporaryDirectory directory;
  const std::string header = R"({"x": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}, )"
                             R"("a": {"dtype": "F32", "shape": [2], "data_offsets": [3, 11]}})";
  const std::array<float, 2> values = {1.5F, -2.0F};
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  const std::filesystem::path path = directory.path() / "file";
  std::ofstream(path, std::ios::binary) << bytes << header << "xyz"
                                        << std::string(reinterpret_cast<const char*>(values.data()), sizeof(values));
  const SafetensorsFile file = read_safetensors(path);
  const ConstSlice found = file.array("a", 2);
  EXPECT_TRUE(found[0] == 1.5F && found[1] == -2.0F);
  EXPECT_EQ(file.types_left_out.at("x"), "U8");
}

TEST(Safetensors, reads_numbers_of_16_bits_as_float32) {
  const TemporaryDirectory directory;
  const std::string header = R"({"b": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}, )"
                             R"("h": {"dtype": "F16", "shape": [8], "data_offsets": [6, 22]}})";
  const std::array<std::uint16_t, 11> bits = {0x3FC0, 0xC000, 0x7F80,  // bfloat16
                                              0x3E00, 0xC000, 0x7BFF, 0x0400,
                                              0x0001, 0x83FF, 0x8000, 0xFC00};  // float16
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  const std::filesystem::path path = directory.path() / "file";
  std::ofstream(path, std::ios::binary) << bytes << header
                                        << std::string(reinterpret_cast<const char*>(bits.data()), sizeof(bits));
  const SafetensorsFile file = read_safetensors(path);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto numbers = [&](const char* name, std::size_t size) {
    const ConstSlice found = file.array(name, size);
    return std::vector<float>(found.begin(), found.end());
  };
  EXPECT_EQ(numbers("b", 3), (std::vector<float>{1.5F, -2, kInfinity}));
  EXPECT_EQ(numbers("h", 8),
            (std::vector<float>{1.5F, -2, 65504, 0x1p-14F, 0x1p-24F, -1023 * 0x1p-24F, -0.0F, -kInfinity}));
  EXPECT_TRUE(std::signbit(file.array("h", 8)[6]));
}

// Two arrays, as eave writes them. The first is so large that the reader takes it in several pieces.
struct HashedFile : testing::Test {
  HashedFile() {
    std::iota(values.begin(), values.end(), 1.0F);
    const ConstSlice all(values);
    write_safetensors(path, {{"a", {300'000}, all.first(300'000)}, {"b", {3}, all.last(3)}}, {{"model", "any"}});
    std::ifstream file(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::size_t content() const { return whole.size() - 4 * values.size(); }
  std::string with_entry(const std::string& entry) const {
    const std::string own = std::string("\"") + kArraysHash + "\":\"" + hash_of(whole.substr(content())).text() + '"';
    std::string changed = whole;
    EXPECT_TRUE(says(changed, own)) << "write_safetensors made the entry";
    const std::size_t header = content() - 8;
    changed.replace(changed.find(own), own.size(), entry);
    const std::size_t more = entry.size() - own.size();  // if negative, wraps around here and back in the sum
    for (std::size_t byte = 0; byte < 8; ++byte)
      changed[byte] = static_cast<char>((header + more) >> (8 * byte) & 0xff);
    return changed;
  }
  std::string refusal_with(const std::string& bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
    return refusal_of_file(path);
  }

  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "file";
  std::vector<float> values = std::vector<float>(300'003);
  std::string whole;
};

TEST_F(HashedFile, is_read_as_it_was_written_and_refused_with_any_bit_of_an_array_flipped) {
  EXPECT_EQ(refusal_with(whole), "");
  const std::size_t size = whole.size() - content();
  for (const std::size_t byte : {std::size_t{0}, std::size_t{3}, (std::size_t{1} << 20) - 1, std::size_t{1} << 20,
                                 size / 2, size - 13, size - 12, size - 1}) {
    for (const int bit : {0, 6, 7}) {
      std::string flipped = whole;
      flipped[content() + byte] = static_cast<char>(flipped[content() + byte] ^ (1 << bit));
      const std::string message = refusal_with(flipped);
      EXPECT_TRUE(message.starts_with(path.string() + ": its arrays do not match the hash in its metadata")) << message;
    }
  }
}

TEST_F(HashedFile, whose_header_would_be_endless_is_refused_with_its_length) {
  std::string endless = whole;
  std::ranges::fill_n(endless.begin(), 8, '\xff');
  EXPECT_TRUE(says(refusal_with(endless), "says its header has a length of 18446744073709551615"));
}

TEST_F(HashedFile, is_refused_after_two_values_have_changed_places) {
  std::string swapped = whole;
  std::swap_ranges(swapped.end() - 12, swapped.end() - 8, swapped.end() - 4);
  EXPECT_TRUE(says(refusal_with(swapped), "do not match the hash"));
}

TEST_F(HashedFile, without_its_hash_is_a_file_of_another_program) {
  std::string other = with_entry(R"("other":"entry")");
  EXPECT_EQ(refusal_with(other), "");
  other.back() = static_cast<char>(other.back() ^ 1);
  EXPECT_EQ(refusal_with(other), "");
}

TEST_F(HashedFile, with_an_entry_that_is_no_hash_is_refused) {
  const std::string name = std::string("\"") + kArraysHash + "\":";
  const std::string right = hash_of(whole.substr(content())).text();
  EXPECT_EQ(refusal_with(with_entry(name + '"' + right + '"')), "");
  for (const std::string& text : {std::string(), right.substr(1), right + "0", "g" + right.substr(1), right + " ",
                                  "0x" + right, std::string(32, 'F'), std::string(70'000, 'a')}) {
    const std::string message = refusal_with(with_entry(name + '"' + text + '"'));
    EXPECT_TRUE(says(message, "expected 32 digits of 0-9 and a-f"));
    EXPECT_LT(message.size(), 600U);
  }
  EXPECT_TRUE(says(refusal_with(with_entry(name + '"' + std::string(32, '0') + '"')), "do not match"));
  EXPECT_NE(refusal_with(with_entry(name + "7")), "") << "metadata are texts";
}

}  // namespace
}  // namespace eave
