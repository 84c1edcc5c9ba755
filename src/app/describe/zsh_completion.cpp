#include "app/describe/described.h"
#include "app/describe/shell_values.h"

namespace eave {
namespace {

std::string zsh_quoted(const std::string& text) {
  std::string result = "'";
  for (const char character : text) result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return result + "'";
}

// Formats an option as --batch=[help]:batch:action.
std::string argument(const ShellOption& option) {
  std::string text = "--" + option.name;
  const bool has_value = option.value != ShellOption::Value::kNone;
  text += (has_value ? "=[" : "[") + escape_characters(option.help, "\\[]", "\\") + "]";
  if (!has_value) return zsh_quoted(text);
  text += (option.may_stand_alone ? "::" : ":") + option.name + ":";
  if (option.value == ShellOption::Value::kPath) text += "_files";
  if (option.value == ShellOption::Value::kWords) text += "(" + join_words(option.words) + ")";
  return zsh_quoted(text);
}

std::string words_of(const NamedCommand& command) {
  std::string text = "    " + std::string(command.name) + ")\n      _arguments -S \\\n";
  for (const ShellOption& option : shell_options(command)) text += "        " + argument(option) + " \\\n";
  if (*command.first_words != '\0') text += "        '1:action:(" + std::string(command.first_words) + ")' \\\n";
  text += command.takes_paths ? "        '*:path:_files'\n" : "        && return\n";
  return text + "      ;;\n";
}

}  // namespace

std::string zsh_completion() {
  std::string text =
      "#compdef eave\n# Completes the words of eave in zsh. Written by: eave help --format zsh\n\n"
      "local curcontext=$curcontext state line ret=1\n"
      "local -a commands=(\n";
  for (const NamedCommand& command : commands())
    text += "  " + zsh_quoted(std::string(command.name) + ":" + escape_characters(command.summary, ":\\", "\\")) + "\n";
  text +=
      ")\n\n"
      "_arguments -C '(- *)--help[list the commands]' '(- *)--version[print the version]' \\\n"
      "  '1:command:->command' '*::word:->word' && return\n\n"
      "if [[ $state == command ]]; then\n"
      "  _describe -t commands command commands\n"
      "elif [[ $state == word ]]; then\n"
      "  case $line[1] in\n";
  for (const NamedCommand& command : commands()) text += words_of(command);
  return text + "  esac\nfi\n";
}

}  // namespace eave
