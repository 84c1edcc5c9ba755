// JSON text that parsers read in different ways is refused, and so is JSON that nests too deep and a number that is no
// whole number or does not fit.
#include "base/formats/strict_json.h"

#include <gtest/gtest.h>

#include <string>

namespace eave {
namespace {

TEST(StrictJson, reads_what_has_one_meaning) {
  EXPECT_EQ(parse_json(R"({"a": 1, "b": [{"a": 2}, {"a": "é"}]})").at("b").at(1).at("a"), "é");
  EXPECT_TRUE(parse_json_or_discard("{").is_discarded());
  EXPECT_FALSE(parse_json_or_discard("{}").is_discarded());
}

TEST(StrictJson, refuses_a_name_that_stands_twice_in_an_object) {
  for (const char* text : {R"({"a": 1, "a": 1})", R"({"x": [{"a": 1, "b": 2, "a": 3}]})", R"({"a": 1, "\u0061": 2})"}) {
    EXPECT_THROW(parse_json(text), AmbiguousJson) << text;
    EXPECT_TRUE(parse_json_or_discard(text).is_discarded()) << text;
  }
}

TEST(StrictJson, refuses_text_behind_a_byte_0_and_a_byte_order_mark) {
  EXPECT_THROW(parse_json(std::string_view("{}\0x", 4)), AmbiguousJson);
  EXPECT_THROW(parse_json("\xef\xbb\xbf{}"), AmbiguousJson);
}

std::string object_of(std::size_t names) {
  std::string text = "{\"0\": 0";
  for (std::size_t i = 1; i < names; ++i) text += ", \"" + std::to_string(i) + "\": 0";
  return text + "}";
}

TEST(StrictJson, refuses_objects_of_more_names_than_any_of_ours) {
  EXPECT_THROW(parse_json(object_of(200'000)), AmbiguousJson);
}

TEST(StrictJson, of_many_names_is_read_up_to_a_limit_and_has_one_meaning_too) {
  EXPECT_EQ(parse_json_of_many_names(object_of(kManyNames)).size(), kManyNames);
  EXPECT_THROW(parse_json_of_many_names(object_of(kManyNames + 1)), AmbiguousJson);
  EXPECT_THROW(parse_json_of_many_names(R"({"a": 1, "a": 1})"), AmbiguousJson);
  EXPECT_THROW(parse_json_of_many_names(std::string_view("{}\0x", 4)), AmbiguousJson);
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The parser's callback would need minutes for it.
TEST(StrictJson, of_many_objects_takes_a_time_in_proportion) {
  std::string text = "[{}";
  for (int i = 0; i < 500'000; ++i) text += ",{}";
  EXPECT_EQ(parse_json(text + "]").size(), 500'001);
}

TEST(JsonNesting, is_too_deep_only_beyond_the_limit) {
  for (const std::string& begin : {std::string("["), std::string("{\"a\":")}) {
    EXPECT_FALSE(is_too_nested(repeated(begin, kMostNested)));
    EXPECT_TRUE(is_too_nested(repeated(begin, kMostNested + 1)));
  }
}

TEST(JsonNesting, counts_what_is_open_and_not_what_was_closed) {
  EXPECT_FALSE(is_too_nested("[" + repeated("[],", 1000) + "1]"));
  EXPECT_TRUE(is_too_nested("[[]," + repeated("[", kMostNested)));
}

TEST(JsonNesting, takes_no_text_for_a_bracket) {
  EXPECT_FALSE(is_too_nested("[\"" + repeated("[", 1000) + "\\\"" + repeated("{", 1000) + "\\\\\"]"));
  EXPECT_TRUE(is_too_nested("[\"\\\\\"," + repeated("[", kMostNested)));
}

using Json = nlohmann::ordered_json;

template <typename Integer>
void expect_refused(const char* text) {
  EXPECT_THROW(integer_in<Integer>(Json::parse(text)), Json::exception) << text;
}

TEST(JsonInteger, takes_whole_numbers_that_fit) {
  EXPECT_EQ(integer_in<std::int64_t>(Json::parse("-9223372036854775808")), INT64_MIN);
  EXPECT_EQ(integer_in<std::uint64_t>(Json::parse("18446744073709551615")), UINT64_MAX);
  EXPECT_EQ(integer_in<int>(Json::parse("-7")), -7);
  EXPECT_EQ(integer_in<int>(Json::parse("4.0")), 4);
  EXPECT_EQ(integers_in<int>(Json::parse("[1, 2]")), (std::vector<int>{1, 2}));
}

TEST(JsonInteger, refuses_what_is_none_or_does_not_fit) {
  for (const char* text :
       {"9223372036854775808", "184467440737095516151000", "1e300", "-1e300", "0.5", "true", "null", "\"1\"", "[1]"})
    expect_refused<std::int64_t>(text);
  expect_refused<int>("2147483648");
  expect_refused<std::uint64_t>("-1");
  EXPECT_THROW(integers_in<int>(Json::parse("{\"a\":1}")), Json::exception);
  EXPECT_THROW(integers_in<int>(Json::parse("[1, 1e30]")), Json::exception);
}

TEST(JsonInteger, says_what_it_found) {
  try {
    integer_in<int>(Json::parse("1e30"));
    FAIL();
  } catch (const Json::exception& refused) {
    EXPECT_STREQ(refused.what(), "expected a whole number that fits, found 1e+30");
  }
}

}  // namespace

}  // namespace eave
