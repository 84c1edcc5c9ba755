#include "app/describe/help_formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "app/main/commands.h"
#include "eave/job.h"

namespace eave {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(HelpFormats, every_option_of_every_command_is_in_each_form) {
  const std::string bash = bash_completion(), zsh = zsh_completion(), fish = fish_completion();
  int options = 0;
  for (const NamedCommand& command : commands()) {
    for (const ShellOption& option : shell_options(command)) {
      EXPECT_TRUE(has(bash, "--" + option.name)) << command.name;
      EXPECT_TRUE(has(zsh, "'--" + option.name + (option.name == "help" ? "[" : "=["))) << command.name;
      EXPECT_TRUE(has(fish, std::string(command.name) + "' -l " + option.name + " ")) << command.name;
      ++options;
    }
  }
  EXPECT_GT(options, 200);
}

TEST(HelpFormats, completion_of_help_offers_every_other_command) {
  std::string names, offered;
  for (const NamedCommand& command : commands()) {
    const std::string name = command.name;
    if (name == "help") {
      offered = command.first_words;
    } else {
      names += (names.empty() ? "" : " ") + name;
    }
  }
  EXPECT_EQ(offered, names);
}

TEST(HelpFormats, manual_page_has_every_command_and_option_and_value) {
  const std::string page = manual_page();
  for (const NamedCommand& command : commands()) {
    EXPECT_TRUE(has(page, std::string("eave ") + escape_characters(command.name, "-", "\\"))) << command.name;
    const CommandLine line = command.options();
    for (const CommandLine::Group& group : line.groups()) {
      for (const OptionSpec& option : group.options)
        EXPECT_TRUE(has(page, "\\-\\-" + escape_characters(option.name, "-", "\\"))) << option.name;
      for (const auto& [name, summary] : group.members)
        EXPECT_TRUE(has(page, "\\fB" + escape_characters(name, "-", "\\") + "\\fR")) << name;
    }
  }
}

TEST(HelpFormats, page_of_options_has_every_option_with_default_and_users) {
  const std::string page = options_page();
  for (const NamedCommand& command : commands()) {
    const std::size_t begin = page.find("\n## eave " + std::string(command.name) + "\n");
    ASSERT_NE(begin, std::string::npos) << command.name;
    const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    const CommandLine line = command.options();
    for (const CommandLine::Group& group : line.groups()) {
      for (const OptionSpec& option : group.options)
        EXPECT_TRUE(has(section, "\n| `--" + option.name + " ")) << command.name << " " << option.name;
      for (const auto& [name, summary] : group.members) EXPECT_TRUE(has(section, "\n| `" + name + "` | ")) << name;
    }
  }
  EXPECT_TRUE(has(
      page, "| `--outer-rate X` | 0.7 | rho, outer learning rate: factor on each move of the center | `diloco` |\n"));
  EXPECT_TRUE(has(page, " | 10; 500 with diloco | "));
  EXPECT_TRUE(has(page, "| `sgd`; not with `--communicator mdownpour` |\n"));
  EXPECT_TRUE(has(page, "| `--lr-scaling none\\|linear\\|sqrt` |")) << "a bare | would end the cell";
}

TEST(HelpFormats, page_of_options_is_that_of_the_sources) {
  if (std::ranges::none_of(transport_kinds(), &TransportKind::is_launched))
    GTEST_SKIP() << "built without MPI, whose transports the page has";
  std::ifstream file(EAVE_SOURCE_DIR "/src/app/OPTIONS.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(page == options_page()) << "write it anew: build/eave help --format markdown > src/app/OPTIONS.md";
}

TEST(HelpFormats, values_are_offered_as_their_option_takes_them) {
  const auto option_of = [](const std::string& command, const std::string& name) {
    for (const NamedCommand& each : commands()) {
      if (command != each.name) continue;
      for (const ShellOption& option : shell_options(each)) {
        if (option.name == name) return option;
      }
    }
    return ShellOption{};
  };
  using Value = ShellOption::Value;
  EXPECT_EQ(option_of("train", "run-dir").value, Value::kPath);
  EXPECT_EQ(option_of("train", "seed").value, Value::kFree);
  EXPECT_TRUE(option_of("train", "trace").may_stand_alone);
  EXPECT_TRUE(option_of("train", "resume").may_stand_alone);  // --resume alone is --resume on
  EXPECT_FALSE(option_of("train", "communicator").may_stand_alone);
  EXPECT_TRUE(has(join_words(option_of("train", "model").words), "lenet"));
  EXPECT_TRUE(has(join_words(option_of("compare", "communicators").words), "easgd"));
  EXPECT_EQ(option_of("compare", "lr-schedule").value, Value::kWords) << "compare takes the options of train";
  EXPECT_EQ(option_of("compare", "batch").help, "values of --batch to compare, such as 32,128")
      << "its own comes before that of train";
}

}  // namespace
}  // namespace eave
