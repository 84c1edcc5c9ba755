#include "app/describe/shell_values.h"

#include <algorithm>

namespace eave {
namespace {

ShellOption shell_option(const OptionSpec& spec) {
  using Value = ShellOption::Value;
  if (spec.type == OptionType::kFlag) return {spec.name, spec.help, Value::kWords, {"on", "off"}, true};
  if (spec.type == OptionType::kPath || spec.type == OptionType::kPaths)
    return {spec.name, spec.help, Value::kPath, {}};
  const std::vector<std::string>& words = spec.choices.empty() ? spec.examples : spec.choices;
  const bool has_on = std::ranges::find(words, "on") != words.end();
  return {spec.name, spec.help, words.empty() ? Value::kFree : Value::kWords, words, has_on};
}

void add_options(std::vector<ShellOption>& options, const CommandLine& line) {
  for (const CommandLine::Group& group : line.groups()) {
    for (const OptionSpec& spec : group.options) {
      if (std::ranges::find(options, spec.name, &ShellOption::name) == options.end())
        options.push_back(shell_option(spec));
    }
  }
}

}  // namespace

std::vector<ShellOption> shell_options(const NamedCommand& command) {
  std::vector<ShellOption> options;
  add_options(options, command.options());
  options.push_back({"help", "list the options", ShellOption::Value::kNone, {}});
  for (const NamedCommand& other : commands()) {
    if (std::string(command.also_takes) == other.name) add_options(options, other.options());
  }
  return options;
}

std::string join_words(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (&word == &words.front() ? "" : separator) + word;
  return text;
}

std::string escape_characters(const std::string& text, const std::string& characters, const std::string& escape) {
  std::string escaped;
  for (const char character : text) {
    if (characters.find(character) != std::string::npos) escaped += escape;
    escaped += character;
  }
  return escaped;
}

}  // namespace eave
