// JSON text that parsers read in different ways is refused.
#include "base/formats/strict_json.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

TEST(StrictJson, reads_what_has_one_meaning) {
  EXPECT_EQ(parse_json(R"({"a": 1, "b": [{"a": 2}, {"a": "é"}]})").at("b").at(1).at("a"), "é");
  EXPECT_TRUE(parse_json_or_discard("{").is_discarded());
  EXPECT_FALSE(parse_json_or_discard("{}").is_discarded());
}

TEST(StrictJson, refuses_a_name_that_stands_twice_in_an_object) {
  for (const char* text : {R"({"a": 1, "a": 1})", R"({"x": [{"a": 1, "b": 2, "a": 3}]})", R"({"a": 1, "\u0061": 2})"}) {
    EXPECT_THROW(parse_json(text), UnclearJson) << text;
    EXPECT_TRUE(parse_json_or_discard(text).is_discarded()) << text;
  }
}

TEST(StrictJson, refuses_text_behind_a_byte_0_and_a_byte_order_mark) {
  EXPECT_THROW(parse_json(std::string_view("{}\0x", 4)), UnclearJson);
  EXPECT_THROW(parse_json("\xef\xbb\xbf{}"), UnclearJson);
}

TEST(StrictJson, refuses_objects_of_more_names_than_any_of_ours) {
  std::string text = "{\"0\": 0";
  for (int i = 1; i < 200'000; ++i) text += ", \"" + std::to_string(i) + "\": 0";
  EXPECT_THROW(parse_json(text + "}"), UnclearJson);
}

}  // namespace
}  // namespace eave
