#include "base/options/option_values.h"

#include <gtest/gtest.h>

#include <functional>

#include "eave/check.h"
#include "test/expectations.h"

namespace eave {
namespace {

OptionValues given(const std::string& text) {
  OptionValues values;
  values.declare({"ranks", OptionType::kText, "", ""});
  values.set("ranks", text, "command line");
  return values;
}

std::string refusal(const std::function<void()>& action) {
  const Error error = error_of(action);
  return std::to_string(static_cast<int>(error.code())) + " " + error.what();
}

TEST(OptionLists, blanks_around_items_mean_nothing) {
  using Words = std::vector<std::string>;
  for (const char* text : {"easgd,gossip", "easgd, gossip", " easgd ,gossip ", "easgd\t,\n gossip"})
    EXPECT_EQ(list_of(given(text), "ranks"), (Words{"easgd", "gossip"})) << text;
  EXPECT_EQ(parts_of("easgd:tau=10 : alpha=0.1", ':', given(""), "ranks"), (Words{"easgd", "tau=10", "alpha=0.1"}));
  EXPECT_EQ(integers_of(given("2, 4 ,8"), "ranks", 1, 8), (std::vector<int>{2, 4, 8}));
}

TEST(OptionLists, an_empty_item_is_refused_and_its_place_named) {
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {"", "1"}, {",", "1"}, {"a,,b", "2"}, {"a,b,", "3"}, {",a", "1"}, {"a, ,b", "2"}}) {
    EXPECT_EQ(refusal([&] { list_of(given(text), "ranks"); }),
              "64 --ranks " + text + " (command line): item " + place + " is empty; give items with ',' between them");
  }
  EXPECT_TRUE(
      says(refusal([] { parts_of("easgd::tau=1", ':', given("x"), "ranks"); }), "item 2 of 'easgd::tau=1' is empty"));
}

TEST(OptionLists, an_item_given_twice_is_refused_however_it_is_written) {
  EXPECT_TRUE(says(refusal([] { list_of(given("a, a"), "ranks"); }), "names a twice"));
  EXPECT_TRUE(says(refusal([] { integers_of(given("2,02"), "ranks", 1, 8); }), "names 02 twice"));
}

TEST(OptionLists, an_item_that_is_no_number_in_range_is_named) {
  for (const char* text : {"2;4", "2 4", "2,x", "2,0x4", "2,+4", "2,4.0", "2,9", "0,2", "2,99999999999999999999"}) {
    const std::string refused = refusal([&] { integers_of(given(text), "ranks", 1, 8); });
    EXPECT_EQ(refused.substr(0, 3), "64 ") << text;
    EXPECT_TRUE(says(refused, "expected a whole number"));
  }
  EXPECT_TRUE(says(refusal([] { real_item("0x1p-3", given(""), "ranks"); }), "'0x1p-3': expected a finite number"));
}

}  // namespace
}  // namespace eave
