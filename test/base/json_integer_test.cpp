#include "base/formats/json_integer.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

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
