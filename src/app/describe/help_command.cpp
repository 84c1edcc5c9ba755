// Implements `eave help`: prints the commands, the manual page, the options page, or shell completions.
#include <cstdio>

#include "app/describe/help_formats.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"

namespace eave {

CommandLine help_command_line() {
  CommandLine line("usage: eave help [--format FORMAT]\n\nLists the commands, or prints their help in another form.");
  line.add_group("Output", {{"format",
                             OptionType::kText,
                             "text",
                             "text: list of commands; man: manual page; markdown: page of all options; bash, zsh, "
                             "fish: completions for that shell",
                             {"text", "man", "markdown", "bash", "zsh", "fish"}}});
  return line;
}

int help_command(const std::vector<std::string>& words, const char* const*) {
  const CommandLine line = help_command_line();
  std::string format;
  const auto print = [&] {
    const std::string text = format == "man"        ? manual_page()
                             : format == "markdown" ? options_page()
                             : format == "bash"     ? bash_completion()
                             : format == "zsh"      ? zsh_completion()
                             : format == "fish"     ? fish_completion()
                                                    : usage();
    std::fputs(text.c_str(), stdout);
  };
  return run_command_once(
      words, line.help(), [&] { format = line.parse(words).text("format"); }, print);
}

}  // namespace eave
