#include "app/describe/described.h"
#include "app/describe/shell_values.h"

namespace eave {
namespace {

std::string fish_quoted(const std::string& text) { return "'" + escape_characters(text, "\\'", "\\") + "'"; }

std::string when(const NamedCommand& command) {
  return "complete -c eave -n '__fish_seen_subcommand_from " + std::string(command.name) + "'";
}

std::string option_line(const NamedCommand& command, const ShellOption& option) {
  std::string text = when(command) + " -l " + option.name;
  if (option.value == ShellOption::Value::kPath) text += " -r -F";
  if (option.value == ShellOption::Value::kFree) text += " -x";
  if (option.value == ShellOption::Value::kWords)
    text += std::string(option.may_stand_alone ? " -f -a " : " -x -a ") + fish_quoted(join_words(option.words));
  return text + " -d " + fish_quoted(option.help) + "\n";
}

std::string lines_of(const NamedCommand& command) {
  std::string text = "\ncomplete -c eave -n __fish_use_subcommand -a " + std::string(command.name) + " -d " +
                     fish_quoted(command.summary) + "\n";
  if (command.takes_paths) text += when(command) + " -F\n";
  const std::string first = command.first_words;
  if (!first.empty())
    text += "complete -c eave -n '__fish_seen_subcommand_from " + std::string(command.name) +
            "; and not __fish_seen_subcommand_from " + first + "' -a " + fish_quoted(first) + "\n";
  for (const ShellOption& option : shell_options(command)) text += option_line(command, option);
  return text;
}

}  // namespace

std::string fish_completion() {
  std::string text =
      "# Completes the words of eave in fish. Written by: eave help --format fish\n\n"
      "complete -c eave -f\n"
      "complete -c eave -n __fish_use_subcommand -l help -d 'list the commands'\n"
      "complete -c eave -n __fish_use_subcommand -l version -d 'print the version'\n";
  for (const NamedCommand& command : commands()) text += lines_of(command);
  return text;
}

}  // namespace eave
