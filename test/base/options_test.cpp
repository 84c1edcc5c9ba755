// Options keep defaults, read values with units, and name what would be right if a value or a name is wrong.
#include "eave/options.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/options/spelling.h"
#include "eave/check.h"
#include "test/expectations.h"

namespace eave {
namespace {

OptionValues sample() {
  OptionValues values;
  values.declare({"batch", OptionType::kInteger, "32", "samples", {}});
  values.declare({"lr", OptionType::kReal, "0.1", "rate", {}});
  values.declare({"order", OptionType::kText, "paper", "order", {"paper", "after-step"}});
  values.declare({"overlap", OptionType::kFlag, "on", "overlap", {}});
  values.declare({"bucket-bytes", OptionType::kBytes, "1MiB", "bucket", {}});
  values.declare({"delay", OptionType::kSeconds, "0s", "delay", {}});
  values.declare({"rate", OptionType::kRate, "", "rate", {}});
  return values;
}

std::string refusal_of(const std::function<void()>& action) {
  const Error error = error_of(action);
  EXPECT_EQ(error.code(), ExitCode::kUsage);
  return error.what();
}

TEST(Options, defaults_hold_until_a_person_gives_a_value) {
  OptionValues values = sample();
  EXPECT_EQ(values.integer("batch", 1), 32);
  EXPECT_FALSE(values.given("batch"));
  EXPECT_EQ(values.entry("batch").source, "default");
  values.set("batch", "64", "command line");
  EXPECT_EQ(values.integer("batch", 1), 64);
  EXPECT_TRUE(values.given("batch"));
  EXPECT_FALSE(values.has("rate"));
}

TEST(Options, units_are_read) {
  OptionValues values = sample();
  values.set("bucket-bytes", "64k", "test");
  EXPECT_EQ(values.bytes("bucket-bytes"), 65536);
  values.set("bucket-bytes", "25MB", "test");
  EXPECT_EQ(values.bytes("bucket-bytes"), 25000000);
  values.set("delay", "5ms", "test");
  EXPECT_DOUBLE_EQ(values.seconds("delay"), 0.005);
  values.set("rate", "1gbit", "test");
  EXPECT_DOUBLE_EQ(values.bytes_per_second("rate"), 125e6);
  values.set("overlap", "", "bare flag");
  EXPECT_TRUE(values.flag("overlap"));
  values.set("overlap", "off", "test");
  EXPECT_FALSE(values.flag("overlap"));
}

TEST(Options, a_wrong_value_names_option_value_place_and_what_is_right) {
  OptionValues values = sample();
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{{"batch", "3.5"},
                                                                                   {"batch", ""},
                                                                                   {"lr", "fast"},
                                                                                   {"lr", "inf"},
                                                                                   {"lr", "nan"},
                                                                                   {"overlap", "maybe"},
                                                                                   {"bucket-bytes", "-1"},
                                                                                   {"bucket-bytes", "3 parsecs"},
                                                                                   {"delay", "5"},
                                                                                   {"rate", "fast"}}) {
    const std::string message = refusal_of([&] { values.set(name, text, "file a.ini"); });
    EXPECT_TRUE(says(message, "--" + name));
    EXPECT_TRUE(says(message, "file a.ini"));
    EXPECT_TRUE(says(message, "expected"));
  }
  values.set("batch", "0", "command line");
  EXPECT_TRUE(says(refusal_of([&] { values.integer("batch", 1); }), "at least 1"));
}

TEST(Options, a_misspelt_name_or_choice_gets_the_likely_one) {
  OptionValues values = sample();
  EXPECT_TRUE(says(refusal_of([&] { values.set("bacth", "1", "x"); }), "did you mean --batch?"));
  EXPECT_TRUE(says(refusal_of([&] { values.set("order", "papr", "x"); }), "did you mean paper?"));
  EXPECT_TRUE(says(refusal_of([&] { values.set("order", "AFTRE-STEP", "x"); }), "did you mean after-step?"));
  EXPECT_TRUE(says(refusal_of([&] { values.set("order", "aft", "x"); }), "did you mean after-step?"));
  EXPECT_TRUE(says(refusal_of([&] { values.set("learning-rate", "1", "x"); }), "did you mean --lr?"));
  EXPECT_FALSE(says(refusal_of([&] { values.set("zzzzzz", "1", "x"); }), "did you mean"));
}

TEST(Options, the_right_word_is_not_proposed_again) {
  EXPECT_EQ(did_you_mean("token", {"epochs", "tokens"}), "; did you mean tokens?");
  EXPECT_EQ(did_you_mean("tokens", {"epochs", "tokens"}), "");
}

TEST(Options, a_name_that_contains_or_is_contained_in_others_gets_those) {
  OptionValues values;
  for (const char* name :
       {"data", "data-dir", "max-steps", "lr-step-epochs", "lr", "tau", "batch", "evaluation-batch"}) {
    values.declare({name, OptionType::kText, "", "", {}});
  }
  const auto message = [&](const char* name) { return refusal_of([&] { values.set(name, "1", "x"); }); };
  EXPECT_TRUE(says(message("dataset"), "; did you mean --data?"));
  EXPECT_TRUE(says(message("steps"), "; did you mean --max-steps?"));
  EXPECT_TRUE(says(message("step"), "; did you mean --max-steps or --lr-step-epochs?"));
  EXPECT_TRUE(says(message("dat"), "; did you mean --data or --data-dir?"));
  EXPECT_TRUE(says(message("slr-x"), "; see --help"));  // "lr" is too short
}

TEST(Options, declaring_a_name_with_two_meanings_is_a_bug) {
  OptionValues values = sample();
  EXPECT_NO_THROW(values.declare({"batch", OptionType::kInteger, "32", "other help", {}}));
  EXPECT_THROW(values.declare({"batch", OptionType::kInteger, "64", "samples", {}}), Error);
}

TEST(Options, a_member_is_found_by_its_name_and_a_wrong_name_is_refused) {
  const std::vector<OptionSpec> kinds = {{"easgd", OptionType::kText, "", ""},
                                         {"allreduce", OptionType::kText, "", ""}};
  EXPECT_EQ(&find_kind(kinds, "allreduce"), &kinds[1]);
  EXPECT_EQ(refusal_of([&] { find_kind(kinds, "esgd"); }), "there is no 'esgd'; did you mean easgd?");
  EXPECT_EQ(refusal_of([&] { find_kind(kinds, "mean"); }), "there is no 'mean'; expected one of easgd, allreduce");
}

}  // namespace
}  // namespace eave
