#include <algorithm>
#include <sstream>

#include "app/describe/help_formats.h"
#include "app/main/commands.h"

namespace eave {
namespace {

constexpr const char* kPageTop = R"(# Every option of every command

`eave COMMAND --help` prints the same in the terminal. The program writes this page, and a test holds it to that:

```
build/eave help --format markdown > src/app/OPTIONS.md
```

Write an option as `--name value` or `--name=value`. If an option is given twice, the last value holds. If the column "default" is
empty, and the description names no default, the option is off. `--help` prints a command's options and exits.

| value | how it is written |
|---|---|
)";

constexpr const char* kPageSources = R"(
For `train`, and for the runs of `compare`, values come from defaults, then a file (`--config`), then the environment (`EAVE_BATCH=64` for
`--batch`), then the command line; the last of these that gives a value counts. The options of `compare` itself come from the environment
and the command line. eave ignores variables `EAVE_…` that Kubernetes or environment modules set, refuses a probable misspelling of an
option, and names all other unknown variables in one warning.

If the column "with" names methods, data sets or other choices, the option works only with those, and eave refuses it otherwise. If the
column is empty or missing, the option always works.

| command | what it does |
|---|---|
)";

// Escapes text for a sentence in Markdown. A | would end the cell of a table.
std::string as_prose(const std::string& text) { return escape_characters(text, "|*<", "\\"); }

std::string as_code(const std::string& text) { return "`" + escape_characters(text, "|", "\\") + "`"; }

// `easgd`, `gossip`; not with `--communicator none`
std::string users_of(const CommandLine& line, const OptionSpec& option) {
  const std::string owners = line.owners_of(option), disablers = line.disablers_of(option);
  std::string text = owners.empty() ? "" : as_code(owners);
  if (!disablers.empty()) text += (owners.empty() ? "not with " : "; not with ") + as_code(disablers);
  return text;
}

std::string options_table(const CommandLine& line, const CommandLine::Group& group) {
  const bool is_for_all =
      std::ranges::all_of(group.options, [&](const OptionSpec& option) { return users_of(line, option).empty(); });
  std::string text = "| option | default | what it does |";
  text += is_for_all ? "\n|---|---|---|\n" : " with |\n|---|---|---|---|\n";
  for (const OptionSpec& option : group.options) {
    text += "| " + as_code("--" + option.name + " " + CommandLine::value_hint(option)) + " | " +
            as_prose(line.default_hint(option)) + " | " + as_prose(option.help) + " |";
    text += is_for_all ? "\n" : " " + users_of(line, option) + " |\n";
  }
  return text;
}

std::string group_section(const CommandLine& line, const CommandLine::Group& group) {
  std::string text = "\n### " + group.title + "\n\n" + options_table(line, group);
  if (group.members.empty()) return text;
  text += "\n| " + as_code("--" + group.options.front().name) + " | what it is |\n|---|---|\n";
  for (const auto& [name, summary] : group.members) text += "| " + as_code(name) + " | " + as_prose(summary) + " |\n";
  return text;
}

// The lines up to the first empty one say how to call the command.
std::string usage_section(const std::string& usage) {
  constexpr std::size_t kIndent = 7;  // "usage: "
  std::istringstream lines(usage);
  std::string text = "```\n";
  std::string line;
  while (std::getline(lines, line) && !line.empty()) text += line.substr(kIndent) + "\n";
  text += "```\n\n";
  while (std::getline(lines, line)) text += as_prose(line) + "\n";
  return text;
}

std::string command_section(const NamedCommand& command) {
  const CommandLine line = command.options();
  std::string text = "\n## eave " + std::string(command.name) + "\n\n" + usage_section(line.usage());
  const std::string other = command.also_takes;
  if (!other.empty()) text += "\nIt also takes the options of [" + other + "](#eave-" + other + ").\n";
  for (const CommandLine::Group& group : line.groups()) text += group_section(line, group);
  return text;
}

}  // namespace

std::string options_page() {
  std::string text = kPageTop;
  for (const ValueForm& form : value_forms()) text += "| " + as_code(form.hint) + " | " + as_prose(form.text) + " |\n";
  text += kPageSources;
  for (const NamedCommand& command : commands())
    text += "| [" + as_code(command.name) + "](#eave-" + command.name + ") | " + as_prose(command.summary) + " |\n";
  for (const NamedCommand& command : commands()) text += command_section(command);
  return text;
}

}  // namespace eave
