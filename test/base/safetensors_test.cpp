// Headers that promise what the file does not hold.
#include "base/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "eave/check.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

std::string refusal_of(const std::string& shape, int values) {
  const TemporaryDirectory directory;
  const std::string header =
      R"({"a": {"dtype": "F32", "shape": )" + shape + R"(, "data_offsets": [0, )" + std::to_string(4 * values) + "]}}";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  const std::filesystem::path path = directory.path() / "file";
  std::ofstream(path, std::ios::binary) << bytes << header << std::string(static_cast<std::size_t>(4 * values), '\0');
  try {
    read_safetensors(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    return error.what();
  }
  return "";
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
  EXPECT_NE(refusal_of("[5]", 6).find("does not fit its shape"), std::string::npos);
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

}  // namespace
}  // namespace eave
