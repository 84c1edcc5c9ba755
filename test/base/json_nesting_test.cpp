#include "base/formats/json_nesting.h"

#include <gtest/gtest.h>

#include <string>

namespace eave {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
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

}  // namespace
}  // namespace eave
