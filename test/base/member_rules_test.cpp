// Names, summaries and options that a member of a family may have.
#include "base/options/member_rules.h"

#include <gtest/gtest.h>

#include "test/expectations.h"

namespace eave {
namespace {

struct Toy {
  std::string name = "soft-sync";
  std::string summary = "one line";
  std::vector<OptionSpec> options = {};
};

std::string fault_of_option_named(const std::string& name) {
  return fault_of_member(Toy{.options = {{name, OptionType::kReal, "0.5", "a rate"}}});
}

std::string fault_of_default_text(OptionType type, const std::string& text,
                                  const std::vector<std::string>& choices = {}) {
  return fault_of_member(Toy{.options = {{"my-rate", type, text, "a rate", choices}}});
}

TEST(MemberRules, accept_names_that_can_be_typed_and_listed) {
  for (const std::string name : {"sgd", "soft-sync", "cifar10", "max_pool", "a"}) EXPECT_EQ(fault_of_name(name), "");
  for (const std::string name : {"", "Soft-Sync", "soft sync", "soft,sync", "soft:x", "soft\nline", "-soft", "2soft",
                                 "söft", std::string(65, 'a').c_str()})
    EXPECT_NE(fault_of_member(Toy{name}).find("such as soft-sync"), std::string::npos) << name;
}

TEST(MemberRules, want_a_summary_of_one_line) {
  EXPECT_EQ(fault_of_member(Toy{}), "");
  EXPECT_EQ(fault_of_member(Toy{.summary = ""}), "it has no summary, which is its line in --help");
  EXPECT_EQ(fault_of_member(Toy{.summary = "two\nlines"}), "its summary is not one line of printable text");
}

TEST(MemberRules, want_names_of_options_that_can_be_typed_once_each) {
  EXPECT_EQ(fault_of_option_named("my-rate"), "");
  for (const std::string name : {"", "--my-rate", "My_Rate", "my_rate", "my rate", "7"})
    EXPECT_NE(fault_of_option_named(name).find("such as my-rate"), std::string::npos) << name;
  const OptionSpec half{"my-rate", OptionType::kReal, "0.5", "a rate"},
      other{"my-rate", OptionType::kReal, "0.7", "a rate"};
  EXPECT_EQ(fault_of_options({half, other}), "the option --my-rate is declared twice");
}

TEST(MemberRules, want_options_that_can_be_listed_and_kept) {
  const auto fault = [](const std::string& text, const std::string& help,
                        const std::vector<std::string>& choices = {}) {
    return fault_of_options({{"my-text", OptionType::kText, text, help, choices}});
  };
  EXPECT_EQ(fault("a", "a text", {"a", "b"}), "");
  EXPECT_EQ(fault_of_option_named(std::string(64, 'a')), "");
  EXPECT_NE(fault_of_option_named(std::string(65, 'a')).find("at most 64 characters"), std::string::npos);
  for (const std::string help : {"", "two\nlines", "\x1b[31mred"})
    EXPECT_EQ(fault("a", help), "the help of option --my-text is not one line of printable text");
  for (const std::string text : {"two\nlines", "\x1b[31mred"})
    EXPECT_EQ(fault(text, "a text"), "the default of option --my-text is not one line of printable text");
  for (const std::string choice : {"", "b,c", "b:c", "b c", "b|c", "b\n"})
    EXPECT_NE(fault("a", "a text", {"a", choice}).find("a choice of option --my-text is empty"), std::string::npos);
}

TEST(MemberRules, want_defaults_that_the_option_accepts) {
  for (const auto& [type, text] : std::vector<std::pair<OptionType, std::string>>{{OptionType::kReal, "0.5"},
                                                                                  {OptionType::kInteger, "5"},
                                                                                  {OptionType::kBytes, "1MiB"},
                                                                                  {OptionType::kReal, ""}})
    EXPECT_EQ(fault_of_default_text(type, text), "") << text;
  EXPECT_NE(fault_of_default_text(OptionType::kReal, "abc").find("--my-rate"), std::string::npos);
  EXPECT_NE(fault_of_default_text(OptionType::kInteger, "0.5").find("its default"), std::string::npos);
  EXPECT_EQ(fault_of_default_text(OptionType::kText, "a", {"a", "b"}), "");
  EXPECT_NE(fault_of_default_text(OptionType::kText, "c", {"a", "b"}), "");
}

TEST(MemberRules, refuse_a_family_with_two_members_of_one_name) {
  EXPECT_EQ(checked_members("toy", std::vector<Toy>{{"one"}, {"two"}}).size(), 2u);
  expect_error(ExitCode::kInternal, "toy 'one': two members have this name", [] {
    checked_members("toy", std::vector<Toy>{{"one"}, {"two"}, {"one"}});
  });
  expect_error(ExitCode::kInternal, "toy 'One': a name is made of",
               [] { checked_members("toy", std::vector<Toy>{{"One"}}); });
}

}  // namespace
}  // namespace eave
