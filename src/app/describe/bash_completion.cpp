#include <map>

#include "app/describe/described.h"
#include "app/describe/shell_values.h"

namespace eave {
namespace {

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
  if [[ $values == / ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
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
  return option.value == ShellOption::Value::kPath ? "/" : join_words(option.words);
}

// Options that offer the same words share one case.
void add_value(std::map<std::string, std::string>& patterns, const std::string& pattern, const std::string& words) {
  if (words.empty()) return;
  std::string& known = patterns[words];
  known += (known.empty() ? "" : " | ") + pattern;
}

}  // namespace

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
         join_words(names) + " --help --version\"; }\n" + function("Of command $1.", "_eave_options", "$1", options) +
         function("Of command $1; / stands for a path.", "_eave_first_words", "$1", firsts) +
         function("The same.", "_eave_other_words", "$1", others) +
         function("Of option $2 of command $1.", "_eave_values", "$1:$2", values) + kFunctions;
}

}  // namespace eave
