#include "app/main/command_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/main/commands.h"
#include "eave/check.h"
#include "test/expectations.h"

namespace eave {
namespace {

CommandLine sample() {
  CommandLine line("usage: sample");
  line.add_group("General", {{"batch", OptionType::kInteger, "32", "samples", {}},
                             {"name", OptionType::kText, "", "any text", {}},
                             {"config", OptionType::kText, "", "file", {}},
                             {"place", OptionType::kPath, "", "directory", {}},
                             {"flip", OptionType::kFlag, "off", "flip", {}}});
  line.add_family("Averaging", {"communicator", OptionType::kText, "allreduce", "which", {}},
                  {{"allreduce", "all", {{"bucket-bytes", OptionType::kBytes, "1MiB", "bucket", {}}}},
                   {"easgd", "elastic", {{"tau", OptionType::kInteger, "10", "period", {}}}},
                   {"pushes", "asynchronous", {{"pace", OptionType::kReal, "1", "how often", {}}}, {"rule", "speed"}},
                   {"alone", "nothing", {}, {"rule", "speed"}}});
  line.add_family("Updates", {"rule", OptionType::kText, "slow", "which", {}},
                  {{"slow", "slowly", {{"speed", OptionType::kReal, "1", "how fast", {}}}}, {"fast", "fast", {}}});
  return line;
}

OptionValues parse(const std::vector<std::string>& words, const std::vector<std::string>& environment = {}) {
  std::vector<const char*> variables;
  for (const std::string& variable : environment) variables.push_back(variable.c_str());
  variables.push_back(nullptr);
  return sample().parse(words, variables.data());
}

std::string refusal(const std::vector<std::string>& words, const std::vector<std::string>& environment = {}) {
  return refusal_by([&] { parse(words, environment); });
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("eave_config_" + std::to_string(::getpid()) + ".ini")) {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  std::string option() const { return "--config=" + path_.string(); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(CommandLine, refuses_options_that_the_chosen_member_disables) {
  EXPECT_EQ(refusal({"--communicator=easgd", "--rule=slow", "--speed=2"}), "accepted");
  for (const std::string option : {"rule", "speed"}) {
    const std::string refused =
        refusal({"--communicator=pushes", "--" + option + "=" + (option == "rule" ? "fast" : "2")});
    EXPECT_EQ(refused, "64 --" + option +
                           " (command line) has no effect with --communicator pushes; leave it out (options of pushes: "
                           "--pace)");
  }
  EXPECT_EQ(refusal({"--communicator=alone", "--speed=2"}),
            "64 --speed (command line) has no effect with --communicator alone; leave it out");
  const OptionValues values = parse({"--communicator=pushes"});
  const std::vector<std::string> names = sample().effective(values);
  EXPECT_EQ(std::ranges::count(names, "speed") + std::ranges::count(names, "rule"), 0);
  EXPECT_EQ(std::ranges::count(names, "pace"), 1);
}

TEST(CommandLine, default_then_file_then_environment_then_command_line) {
  const ConfigFile file("batch = 1  # a remark\n");
  EXPECT_EQ(parse({}).text("batch"), "32");
  EXPECT_EQ(parse({file.option()}).text("batch"), "1");
  EXPECT_EQ(parse({file.option()}, {"EAVE_BATCH=2"}).text("batch"), "2");
  EXPECT_EQ(parse({file.option(), "--batch", "3"}, {"EAVE_BATCH=2"}).text("batch"), "3");
}

TEST(CommandLine, each_value_knows_its_source) {
  const ConfigFile file("communicator = easgd\n");
  const OptionValues values = parse({file.option(), "--tau=3"}, {"EAVE_BATCH=2", "OTHER=1"});
  EXPECT_EQ(values.entry("communicator").source, "file " + file.path());
  EXPECT_EQ(values.entry("tau").source, "command line");
  EXPECT_EQ(values.entry("batch").source, "environment EAVE_BATCH");
  EXPECT_EQ(values.entry("flip").source, "default");
}

TEST(CommandLine, what_it_prints_as_configuration_reads_back_the_same) {
  const OptionValues values = parse({"--communicator", "easgd", "--tau", "7", "--flip", "--batch", "5"});
  const ConfigFile file(sample().describe(values));
  const OptionValues again = parse({file.option()});
  for (const char* name : {"communicator", "tau", "flip", "batch"})
    EXPECT_EQ(again.text(name), values.text(name)) << name;
}

// describe() prints a text value so that a configuration file gives the same value back. If no file can hold the value,
// it throws a usage error that names the option.
TEST(CommandLine, a_value_it_prints_as_configuration_comes_back_whole_or_is_refused) {
  const std::vector<std::string> held = {"a b",    "a = b",        "[a]", "\"a\" b", "'a' 'b'", "a;b", "\\", "a\tb",
                                         "a,b  c", "\u00e4\u20ac", "$a",  "=",       "-a",      "//",  "[",  "]"};
  const std::vector<std::string> not_held = {"a#b", "#",   "a #b", " a",   "a ",   "\ta",     "a\t",   "a\nb", "a\rb",
                                             "a\r", "\va", " ",    "a\vb", "\x7f", "\u202ea", "\"a\"", "'a'"};
  for (const std::string& text : held) {
    const ConfigFile file(sample().describe(parse({"--name=" + text})));
    EXPECT_EQ(parse({file.option()}).text("name"), text);
  }
  for (const std::string& text : not_held) {
    const OptionValues values = parse({"--name=" + text});
    EXPECT_EQ(values.text("name"), text);
    expect_error(ExitCode::kUsage, "--name", [&] { sample().describe(values); });
  }
}

TEST(CommandLine, a_file_of_other_systems_editors_reads_the_same) {
  for (const char* text : {"\xEF\xBB\xBF"
                           "batch = 7\n",
                           "batch = 7\r\n", "batch=7", "\n  batch =\t7  # a remark\r\n", "batch = 7 #"}) {
    const ConfigFile file(text);
    EXPECT_EQ(parse({file.option()}).text("batch"), "7") << text;
  }
  const ConfigFile wide(
      std::string("\xFF\xFE"
                  "b\0a\0",
                  6));
  expect_parts(refusal({wide.option()}), {"save it as UTF-8"});
}

TEST(CommandLine, what_a_file_would_lose_or_take_literally_is_refused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"batch = 7\nflip = on\nbatch = 8\n", "--batch is given twice, as 7 and as 8"},
      {"config-dir = x\n", "unknown option --config-dir"},
      {"batch = 7\nplace = runs/a#1\n", "line 2: 'place = runs/a#1': # begins a remark"},
      {"place = \"runs/a\"\n", "leave out the quotes"},
      {"place = 'runs/a'\n", "leave out the quotes"},
      {"batch = \"7\"\n", "leave out the quotes"},
      {"name = 'dense 10'\n", "leave out the quotes"},
      {"batch = 7  # \x80 lost\n", "line 1: it is not UTF-8 text"},
      {"batch = 7\nplace = caf\xe9\n", "line 2: it is not UTF-8 text"},
      {std::string("batch = 7\nbat\0ch = 8\n", 19), "line 2: it contains a zero byte"},
      {"flip =\n", "--flip (file "},
      {"batch =\n", "--batch (file "},
      {"[general]\nbatch = 7\n", "general.batch"}};
  for (const auto& [text, says] : cases) {
    const ConfigFile file(text);
    const std::string refused = refusal({file.option()});
    EXPECT_EQ(refused.substr(0, 3), "64 ") << text;
    expect_parts(refused, {says});
  }
}

TEST(CommandLine, an_empty_value_is_no_value_of_a_flag_either) {
  EXPECT_TRUE(parse({"--flip"}).flag("flip"));
  for (const std::string& refused :
       {refusal({"--flip", ""}), refusal({"--flip="}), refusal({}, {"EAVE_FLIP="}), refusal({}, {"EAVE_FLIP= "}),
        refusal({}, {"EAVE_PLACE= "}), refusal({"--place", "  "}), refusal({"--name", ""})})
    EXPECT_EQ(refused.substr(0, 3), "64 ") << refused;
}

TEST(CommandLine, blanks_around_a_value_are_no_part_of_it_but_in_free_text) {
  const OptionValues values = parse({"--batch", " 7 ", "--communicator", "easgd\n"}, {"EAVE_NAME= a ", "EAVE_TAU=3\r"});
  EXPECT_EQ(values.text("batch"), "7");
  EXPECT_EQ(values.text("communicator"), "easgd");
  EXPECT_EQ(values.text("tau"), "3");
  EXPECT_EQ(values.text("name"), " a ");
}

TEST(CommandLine, a_home_directory_is_expanded_wherever_a_path_comes_from) {
  const char* const home = std::getenv("HOME");
  const std::string before = home ? home : "";
  ::setenv("HOME", std::filesystem::temp_directory_path().c_str(), 1);
  const std::string at_home = std::filesystem::temp_directory_path() / "x";
  const ConfigFile file("place = ~/x\n");
  EXPECT_EQ(parse({"--place=~/x"}).text("place"), at_home);
  EXPECT_EQ(parse({}, {"EAVE_PLACE=~/x"}).text("place"), at_home);
  EXPECT_EQ(parse({file.option()}).text("place"), at_home);
  EXPECT_EQ(parse({"--config=~/" + std::filesystem::path(file.path()).filename().string()}).text("place"), at_home);
  EXPECT_EQ(parse({"--place=./~/x"}).text("place"), "./~/x");
  expect_parts(refusal({"--place=~nobody-is-called-so/x"}), {"64 --place ~nobody-is-called-so/x (command line)"});
  home ? ::setenv("HOME", before.c_str(), 1) : ::unsetenv("HOME");
}

TEST(CommandLine, help_says_how_sizes_times_and_rates_are_written) {
  CommandLine line("usage: sample");
  line.add_group("General", {{"most", OptionType::kBytes, "", "size"}, {"delay", OptionType::kSeconds, "", "time"}});
  const std::string help = line.help();
  expect_parts(help, {"\nSIZE: such as 4096, 64k", "\nTIME: such as 50us"});
  EXPECT_EQ(help.find("RATE:"), std::string::npos) << help;
}

TEST(CommandLine, an_option_of_another_member_is_refused_wherever_it_was_given) {
  const ConfigFile file("tau = 3\n");
  for (const std::string& message : {refusal({"--tau", "3"}), refusal({}, {"EAVE_TAU=3"}), refusal({file.option()})}) {
    EXPECT_EQ(message.substr(0, 3), "64 ") << message;
    expect_parts(message, {"--tau", "has no effect with --communicator allreduce; it belongs to easgd"});
  }
  EXPECT_EQ(refusal({"--communicator", "easgd", "--tau", "3"}), "accepted");
}

TEST(CommandLine, misspelt_options_get_the_likely_one_and_code_64) {
  for (const std::string& message :
       {refusal({"--bacth", "3"}), refusal({"--bacth=3"}), refusal({}, {"EAVE_BACTH=3"})}) {
    EXPECT_EQ(message.substr(0, 3), "64 ") << message;
    expect_parts(message, {"did you mean --batch?"});
  }
  expect_parts(refusal({"--communicator", "eagsd"}), {"did you mean easgd?"});
  EXPECT_EQ(refusal({"--bat", "3"}).substr(0, 3), "64 ") << "abbreviations are not guessed";
}

TEST(CommandLine, stray_words_missing_values_and_broken_files_are_refused) {
  expect_parts(refusal({"stray"}), {"unexpected word 'stray'"});
  EXPECT_EQ(refusal({"--batch"}).substr(0, 3), "64 ");
  EXPECT_EQ(refusal({"--batch", ""}).substr(0, 3), "64 ");
  EXPECT_EQ(refusal({"--config", "/nonexistent/eave.ini"}).substr(0, 3), "66 ");
  const ConfigFile broken("this is no assignment\n");
  EXPECT_EQ(refusal({broken.option()}).substr(0, 3), "64 ");
  const ConfigFile unknown("bacth = 3\n");
  expect_parts(refusal({unknown.option()}), {"did you mean --batch?"});
}

// Two members of the family declare tau, each with its own default.
CommandLine with_two_defaults() {
  CommandLine line("usage: sample");
  line.add_family("Averaging", {"communicator", OptionType::kText, "easgd", "which", {}},
                  {{"easgd", "elastic", {{"tau", OptionType::kInteger, "10", "period", {}}}},
                   {"diloco", "outer", {{"tau", OptionType::kInteger, "500", "period", {}}}},
                   {"none", "alone", {}}});
  return line;
}

TEST(CommandLine, a_file_of_another_kind_is_named) {
  expect_parts(refusal({ConfigFile("{\"tau\": \"10\"}").option()}), {"it is a JSON document; expected text"});
  expect_parts(refusal({ConfigFile("<!DOCTYPE html>\n").option()}), {"it is an HTML page"});
}

TEST(CommandLine, a_shared_option_has_the_default_of_the_chosen_member) {
  const CommandLine line = with_two_defaults();
  const char* const none[] = {nullptr};
  const char* const exported[] = {"EAVE_COMMUNICATOR=diloco", nullptr};
  EXPECT_EQ(line.parse({}, none).text("tau"), "10");
  for (const OptionValues& values : {line.parse({"--communicator", "diloco"}, none), line.parse({}, exported)}) {
    EXPECT_EQ(values.integer("tau", 1), 500);
    EXPECT_FALSE(values.given("tau"));
    expect_parts(line.describe(values), {"\n# tau = 500 "});
  }
  EXPECT_EQ(line.parse({"--communicator", "diloco", "--tau", "10"}, none).text("tau"), "10");
  expect_parts(line.help(), {"period [10; 500 with diloco] (diloco, easgd)"});
}

TEST(CommandLine, windows_of_text_are_as_long_as_the_table_of_positions_unless_told) {
  const auto context = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--data", "text"});
    return train_command_line().parse(words).text("context");
  };
  EXPECT_EQ(context({"--model", "nanogpt-char"}), "256");
  EXPECT_EQ(context({"--model", "gpt2", "--context", "128"}), "128");
  EXPECT_EQ(context({"--model", "embedding 8; tied_output"}), "64") << "it has no such table";
  const CommandLine line = train_command_line();
  EXPECT_EQ(line.parse({"--data", "text", "--batch", "6"}).text("evaluation-batch"), "6");
  EXPECT_EQ(line.parse({"--batch", "6"}).text("evaluation-batch"), "128");
}

TEST(CommandLine, members_may_not_share_a_name_for_two_meanings) {
  CommandLine line("usage: sample");
  EXPECT_THROW(line.add_family("Averaging", {"communicator", OptionType::kText, "easgd", "which", {}},
                               {{"easgd", "elastic", {{"tau", OptionType::kInteger, "10", "period", {}}}},
                                {"other", "other", {{"tau", OptionType::kReal, "10", "period", {}}}}}),
               Error);
}

TEST(CommandLine, help_names_every_option_group_and_member) {
  const std::string help = sample().help();
  expect_parts(help, {"--batch", "--tau", "--bucket-bytes", "Averaging", "elastic", "[32]", "(easgd)"});
}

TEST(CommandLine, options_of_members_that_are_not_chosen_are_not_in_force) {
  const std::vector<std::string> names = sample().effective(parse({}));
  EXPECT_NE(std::find(names.begin(), names.end(), "bucket-bytes"), names.end());
  EXPECT_EQ(std::find(names.begin(), names.end(), "tau"), names.end());
}

TEST(CommandLine, tells_paths_from_options_and_their_values) {
  using Paths = std::vector<std::filesystem::path>;
  const auto [paths, values] = read_paths(sample(), {"a", "--name", "rows", "b", "--batch=8", "c"}, "DIR", "no DIR");
  EXPECT_EQ(paths, (Paths{"a", "b", "c"}));
  EXPECT_EQ(values.text("name"), "rows");
  EXPECT_EQ(values.text("batch"), "8");
  EXPECT_EQ(refusal_by([] { read_paths(sample(), {"--name", "rows"}, "DIR", "no DIR"); }), "64 no DIR");

  const auto first = read_first_path(sample(), {"a", "--flip", "--name", "rows"}, "DIR", "no DIR");
  EXPECT_EQ(first.paths, Paths{"a"});
  EXPECT_TRUE(first.values.flag("flip"));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--flip", "a", "--name", "rows"},
                                                {"--name", "rows", "--flip", "on", "a"},
                                                {"--flip", "--name", "rows", "--", "a"}}) {
    const auto [path, given] = read_first_path(sample(), words, "DIR", "no DIR");
    EXPECT_EQ(path, Paths{"a"});
    EXPECT_TRUE(given.flag("flip"));
    EXPECT_EQ(given.text("name"), "rows");
  }
  EXPECT_EQ(refusal_by([] { read_first_path(sample(), {"--flip", "--name", "rows"}, "DIR", "no DIR"); }), "64 no DIR");
}

}  // namespace
}  // namespace eave
