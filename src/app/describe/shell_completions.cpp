// Completes the words of eave in bash, zsh and fish.
#include <algorithm>
#include <map>

#include "app/describe/help_formats.h"
#include "base/options/spelling.h"

namespace eave {
namespace {

ShellOption shell_option(const OptionSpec& spec) {
  using Value = ShellOption::Value;
  if (spec.type == OptionType::kFlag) return {spec.name, spec.help, Value::kWords, {"on", "off"}, true};
  if (spec.type == OptionType::kPath || spec.type == OptionType::kPaths)
    return {spec.name, spec.help, Value::kPath, {}};
  const std::vector<std::string>& words = spec.choices.empty() ? spec.examples : spec.choices;
  const bool has_on = std::ranges::find(words, "on") != words.end();
  const bool may_be_path = spec.name == "model";  // a folder, or one of the words
  return {spec.name, spec.help, words.empty() ? Value::kFree : Value::kWords, words, has_on, may_be_path};
}

void add_options(std::vector<ShellOption>& options, const CommandLine& line) {
  for (const CommandLine::Group& group : line.groups()) {
    for (const OptionSpec& spec : group.options) {
      if (std::ranges::find(options, spec.name, &ShellOption::name) == options.end())
        options.push_back(shell_option(spec));
    }
  }
}

constexpr const char* kFunctions = R"(
# bash takes --option=value for three words.
_eave() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} values=
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    values=$(_eave_commands)
  elif [[ $current == -* ]]; then
    values=$(_eave_options "$command")
  elif [[ $before == --* ]]; then
    values=$(_eave_values "$command" "$before")
  elif ((COMP_CWORD == 2)); then
    values=$(_eave_first_words "$command")
  else
    values=$(_eave_other_words "$command")
  fi
  local begin=
  if [[ $values != / && $current == *,* ]]; then
    begin=${current%,*},
  fi
  COMPREPLY=()
  if [[ $values != / ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$begin" -W "${values% /}" -- "${current#"$begin"}")
  fi
  if [[ $values == */ && ${#COMPREPLY[@]} == 0 ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -F _eave eave
)";

std::string function(const std::string& comment, const std::string& name, const std::string& key,
                     const std::map<std::string, std::string>& cases) {
  std::string text = "\n# " + comment + "\n" + name + "() {\n  case " + key + " in\n";
  for (const auto& [pattern, words] : cases) text += "    " + pattern + ") echo \"" + words + "\" ;;\n";
  return text + "  esac\n}\n";
}

std::string offered(const ShellOption& option) {
  if (option.value == ShellOption::Value::kPath) return "/";
  return join_words(option.words) + (option.may_be_path ? " /" : "");
}

// Options that offer the same words share one case.
void add_value(std::map<std::string, std::string>& patterns, const std::string& pattern, const std::string& words) {
  if (words.empty()) return;
  std::string& known = patterns[words];
  known += (known.empty() ? "" : " | ") + pattern;
}

// Formats an option as --batch=[help]:batch:action.
std::string argument(const ShellOption& option) {
  std::string text = "--" + option.name;
  const bool has_value = option.value != ShellOption::Value::kNone;
  text += (has_value ? "=[" : "[") + escape_characters(option.help, "\\[]", "\\") + "]";
  if (!has_value) return shell_quoted(text);
  text += (option.may_stand_alone ? "::" : ":") + option.name + ":";
  if (option.value == ShellOption::Value::kPath) text += "_files";
  const std::string words = join_words(option.words);
  if (option.value == ShellOption::Value::kWords)
    text += option.may_be_path ? "{ compadd -- " + words + "; _files }" : "(" + words + ")";
  return shell_quoted(text);
}

std::string words_of(const NamedCommand& command) {
  std::string text = "    " + std::string(command.name) + ")\n      _arguments -S \\\n";
  for (const ShellOption& option : shell_options(command)) text += "        " + argument(option) + " \\\n";
  if (*command.first_words != '\0') text += "        '1:action:(" + std::string(command.first_words) + ")' \\\n";
  text += command.takes_paths ? "        '*:path:_files'\n" : "        && return\n";
  return text + "      ;;\n";
}

std::string fish_quoted(const std::string& text) { return "'" + escape_characters(text, "\\'", "\\") + "'"; }

std::string when(const NamedCommand& command) {
  return "complete -c eave -n '__fish_seen_subcommand_from " + std::string(command.name) + "'";
}

// fish offers the value of an option that may stand alone only behind a =. This line offers it as a word of its own
// too.
std::string separate_value_line(const NamedCommand& command, const ShellOption& option) {
  const bool is_flag = option.words == std::vector<std::string>{"on", "off"};
  if (!option.may_stand_alone || is_flag) return "";
  return "complete -c eave -n '__fish_seen_subcommand_from " + std::string(command.name) +
         "; and contains -- (commandline -opc)[-1] --" + option.name + "' -f -a " +
         fish_quoted(join_words(option.words)) + "\n";
}

std::string option_line(const NamedCommand& command, const ShellOption& option) {
  std::string text = when(command) + " -l " + option.name;
  if (option.value == ShellOption::Value::kPath) text += " -r -F";
  if (option.value == ShellOption::Value::kFree) text += " -x";
  if (option.value == ShellOption::Value::kWords)
    text += std::string(option.may_stand_alone ? " -f -a "
                        : option.may_be_path   ? " -r -F -a "
                                               : " -x -a ") +
            fish_quoted(join_words(option.words));
  return text + " -d " + fish_quoted(option.help) + "\n" + separate_value_line(command, option);
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

std::string bash_completion() {
  std::map<std::string, std::string> options, firsts, others, value_patterns, values;
  std::vector<std::string> names;
  for (const NamedCommand& command : commands()) {
    names.push_back(command.name);
    std::vector<std::string> words;
    for (const ShellOption& option : shell_options(command)) {
      words.push_back("--" + option.name);
      add_value(value_patterns, std::string(command.name) + ":--" + option.name, offered(option));
    }
    options[command.name] = join_words(words);
    others[command.name] = command.takes_paths ? "/" : options[command.name];
    firsts[command.name] = *command.first_words != '\0' ? command.first_words : others[command.name];
  }
  for (const auto& [words, pattern] : value_patterns) values[pattern] = words;
  return "# Completes the words of eave in bash. Written by: eave help --format bash\n\n_eave_commands() { echo \"" +
         join_words(names) + " --help --version\"; }\n" +
         function("Options of command $1.", "_eave_options", "$1", options) +
         function("Words that may follow command $1; / stands for a path.", "_eave_first_words", "$1", firsts) +
         function("Words that may come later; / stands for a path.", "_eave_other_words", "$1", others) +
         function("Values of option $2 of command $1; / stands for a path.", "_eave_values", "$1:$2", values) +
         kFunctions;
}

std::string zsh_completion() {
  std::string text =
      "#compdef eave\n# Completes the words of eave in zsh. Written by: eave help --format zsh\n\n"
      "_eave() {\n"
      "local curcontext=$curcontext state line ret=1\n"
      "local -a subcommands=(\n";
  for (const NamedCommand& command : commands())
    text +=
        "  " + shell_quoted(std::string(command.name) + ":" + escape_characters(command.summary, ":\\", "\\")) + "\n";
  text +=
      ")\n\n"
      "_arguments -C '(- *)--help[list the commands]' '(- *)--version[print the version]' \\\n"
      "  '1:command:->command' '*::word:->word' && return\n\n"
      "if [[ $state == command ]]; then\n"
      "  _describe -t commands command subcommands\n"
      "elif [[ $state == word ]]; then\n"
      "  case $line[1] in\n";
  for (const NamedCommand& command : commands()) text += words_of(command);
  return text +
         "  esac\nfi\n}\n\n"
         "# The file is either a function of $fpath that is called, or was sourced.\n"
         "if [ \"$funcstack[1]\" = _eave ]; then\n  _eave \"$@\"\nelse\n  compdef _eave eave\nfi\n";
}

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
