// Headers that the safetensors library (0.8.0) accepts or refuses. Each was tried with that library; eave must agree.
#include <gtest/gtest.h>

#include "base/formats/safetensors.h"
#include "eave/check.h"
#include "test/expectations.h"

namespace eave {
namespace {

struct HeaderCase {
  const char* name;
  std::string header;
  std::uint64_t bytes = 4;
};

const std::string kArrayA = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";

std::string array_entry(const std::string& type, const std::string& shape, const std::string& place,
                        const std::string& more = "") {
  return R"("b":{"dtype":)" + type + R"(,"shape":)" + shape + R"(,"data_offsets":)" + place + more + "}";
}

std::string only_array(const std::string& type, const std::string& shape, const std::string& place,
                       const std::string& more = "") {
  return "{" + array_entry(type, shape, place, more) + "}";
}

std::string so_many(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(SafetensorsHeader, takes_what_the_formats_own_library_takes) {
  const std::vector<HeaderCase> cases = {
      {"nothing", "{}", 0},
      {"metadata alone", R"({"__metadata__":{}})", 0},
      {"no metadata", R"({"__metadata__":null,)" + kArrayA + "}"},
      {"padding", "{" + kArrayA + "} \n\t\r "},
      {"a blank first", " {" + kArrayA + "}"},
      {"another order", R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)" + kArrayA + "}", 8},
      {"no dimension", only_array(R"("F32")", "[]", "[0,4]")},
      {"14 dimensions", only_array(R"("F32")", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]")},
      {"empty array at the end", "{" + kArrayA + "," + array_entry(R"("F32")", "[0,3]", "[4,4]") + "}"},
      {"empty arrays at the start", R"({"z":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)" +
                                        array_entry(R"("F32")", "[0,3]", "[0,0]") + "," + kArrayA + "}"},
      {"empty array of large extents", only_array(R"("F32")", "[0,4294967296,4294967296]", "[0,0]"), 0},
      {"a place that is no multiple of 4",
       R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)" + array_entry(R"("F32")", "[1]", "[1,5]") + "}", 5},
      {"half bytes", only_array(R"("F4")", "[8]", "[0,4]")},
      {"a field that nobody knows", only_array(R"("F32")", "[1]", "[0,4]", R"(,"z":[{"y":1e300}])")},
      {"nested as deep as it may be",
       only_array(R"("F32")", "[1]", "[0,4]", R"(,"z":)" + so_many("[", 125) + so_many("]", 125))},
      {"fields without names", R"({"a":["F32",[1],[0,4]]})"},
      {"a type as an object", only_array(R"({"F32":null})", "[1]", "[0,4]")},
      {"a name of no letters", R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"},
      {"a name with escapes", R"({"\ud83d\ude00\u0000":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"},
  };
  for (const HeaderCase& each : cases) EXPECT_NO_THROW(parse_safetensors_header(each.header, each.bytes)) << each.name;
}

TEST(SafetensorsHeader, says_how_much_no_array_covers) {
  const auto expect = [](std::uint64_t bytes, const std::string& words) {
    expect_error(ExitCode::kBadData, words, [&] { parse_safetensors_header("{" + kArrayA + "}", bytes); });
  };
  expect(5, "has 1 byte after its last array that no array covers");
  expect(6, "has 2 bytes after");
}

TEST(SafetensorsHeader, refuses_what_the_formats_own_library_refuses) {
  const std::vector<HeaderCase> cases = {
      {"no text", "", 0},
      {"a list", "[]", 0},
      {"a number", "1", 0},
      {"an array twice", "{" + kArrayA + R"(,"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8},
      {"two arrays over the same bytes", "{" + kArrayA + "," + array_entry(R"("F32")", "[1]", "[0,4]") + "}"},
      {"arrays that overlap", "{" + kArrayA + "," + array_entry(R"("F32")", "[1]", "[2,6]") + "}", 6},
      {"bytes before the first array", only_array(R"("F32")", "[1]", "[4,8]"), 8},
      {"bytes between arrays", "{" + kArrayA + "," + array_entry(R"("F32")", "[1]", "[8,12]") + "}", 12},
      {"bytes after the last array", "{" + kArrayA + "}", 8},
      {"bytes of no array", "{}", 1},
      {"a file that is cut off", "{" + kArrayA + "}", 3},
      {"an empty array that is elsewhere", "{" + kArrayA + "," + array_entry(R"("F32")", "[0]", "[3,3]") + "}"},
      {"a place that ends before it begins", "{" + kArrayA + "," + array_entry(R"("F32")", "[0]", "[4,0]") + "}"},
      {"metadata twice", R"({"__metadata__":{},"__metadata__":{},)" + kArrayA + "}"},
      {"metadata that are a list", R"({"__metadata__":[["x","y"]],)" + kArrayA + "}"},
      {"metadata that are a number", R"({"__metadata__":{"x":1},)" + kArrayA + "}"},
      {"a field twice", only_array(R"("F32")", "[1]", "[0,4]", R"(,"dtype":"F32")")},
      {"no shape", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})"},
      {"null for an array", R"({"a":null})", 0},
      {"four fields without names", R"({"a":["F32",[1],[0,4],5]})"},
      {"three offsets", only_array(R"("F32")", "[1]", "[0,4,4]")},
      {"an offset with a point", only_array(R"("F32")", "[1]", "[0,4.0]")},
      {"an extent with a point", only_array(R"("F32")", "[1.0]", "[0,4]")},
      {"an offset -0", only_array(R"("F32")", "[1]", "[-0,4]")},
      {"an extent below 0", only_array(R"("F32")", "[-1]", "[0,4]")},
      {"an unknown type", only_array(R"("X32")", "[1]", "[0,4]")},
      {"a type in small letters", only_array(R"("f32")", "[1]", "[0,4]")},
      {"a type with a value", only_array(R"({"F32":1})", "[1]", "[0,4]")},
      {"a shape that does not fit", only_array(R"("F32")", "[2]", "[0,4]")},
      {"a type that does not fit", only_array(R"("F64")", "[1]", "[0,4]")},
      {"half a byte", only_array(R"("F4")", "[7]", "[0,4]")},
      {"more values than 64 bits count", only_array(R"("F32")", "[4294967296,4294967296]", "[0,0]"), 0},
      {"the same before a 0", only_array(R"("F32")", "[4294967296,4294967296,0]", "[0,0]"), 0},
      {"more bytes than 64 bits count", only_array(R"("F32")", "[4611686018427387904]", "[0,0]"), 0},
      {"padding of NUL", "{" + kArrayA + "}" + std::string(2, '\0')},
      {"a byte order mark", "\xef\xbb\xbf{" + kArrayA + "}"},
      {"text behind it", "{" + kArrayA + "}x"},
      {"a comment", "{/*x*/" + kArrayA + "}"},
      {"no UTF-8", "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"},
      {"half a pair of surrogates", R"({"\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"},
      {"a line end in a name", "{\"a\n\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"},
      {"NaN", only_array(R"("F32")", "[1]", "[0,4]", R"(,"z":NaN)")},
      {"a number that is too large", only_array(R"("F32")", "[1]", "[0,4]", R"(,"z":1e999)")},
      {"nested too deep", only_array(R"("F32")", "[1]", "[0,4]", R"(,"z":)" + so_many("[", 126) + so_many("]", 126))},
  };
  for (const HeaderCase& each : cases) {
    EXPECT_EQ(code_of([&] { parse_safetensors_header(each.header, each.bytes); }), ExitCode::kBadData) << each.name;
  }
}

TEST(SafetensorsHeader, takes_the_last_of_equal_names_in_metadata) {
  EXPECT_EQ(parse_safetensors_header(R"({"__metadata__":{"x":"y","x":"z"}})", 0).metadata.at("x"), "z");
}

// The parser's time grows with the square of their number.
TEST(SafetensorsHeader, of_many_objects_is_refused) {
  for (const std::string name : {"__metadata__", "a"}) {
    expect_error(ExitCode::kBadData, "of more than 64 objects",
                 [&] { parse_safetensors_header("{\"" + name + "\":[" + so_many("{},", 500'000) + "1]}", 0); });
  }
}

TEST(SafetensorsHeader, of_many_arrays_takes_a_time_in_proportion) {
  std::string header = "{";
  for (int i = 0; i < 40'000; ++i) {
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  EXPECT_EQ(parse_safetensors_header(header + "}", 0).arrays.size(), 40'000U);
}

}  // namespace
}  // namespace eave
