#include "app/main/commands.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "app/describe/help_formats.h"
#include "app/main/launch.h"
#include "app/main/plugins.h"
#include "eave/check.h"
#include "eave/options.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr std::array kCommands = {
    NamedCommand{"train", "trains one model replica per rank; run under mpirun for several ranks", train_command,
                 train_command_line, "", false, "", true},
    NamedCommand{"compare", "trains with several methods, ranks, batches and rates, and says which is best",
                 compare_command, compare_command_line, "", false, "train", true},
    NamedCommand{"summary", "prints a table of finished runs", summary_command, summary_command_line, "", true},
    NamedCommand{"report", "compares runs in tables and on one page, and names the winner", report_command,
                 report_command_line, "", true},
    NamedCommand{"watch", "follows a run while it goes on", watch_command, watch_command_line, "", true},
    NamedCommand{"plan", "predicts step times and bytes for more ranks from a short run", plan_command,
                 plan_command_line, "", true},
    NamedCommand{"suggest", "recommends a method, its settings and a command line from short runs", suggest_command,
                 suggest_command_line, "", true},
    NamedCommand{"bench-comm", "times exchanges between ranks", bench_comm_command, bench_comm_command_line},
    NamedCommand{"checkpoint", "lists and verifies a run's checkpoints, and writes the model of one",
                 checkpoint_command, checkpoint_command_line, "ls verify export", true},
    NamedCommand{"export", "writes a run's model for PyTorch or NumPy", export_command, export_command_line, "", true},
    NamedCommand{"generate", "writes text with the model of a run", generate_command, generate_command_line, "", true},
    NamedCommand{"doctor", "checks ranks, hosts and network; says what is wrong and what to do", doctor_command,
                 doctor_command_line},
    NamedCommand{"help", "prints this list, the options of a command, the manual page or shell completions",
                 help_command, help_command_line,
                 "train compare summary report watch plan suggest bench-comm checkpoint export generate doctor"},
};

}  // namespace

std::span<const NamedCommand> commands() { return kCommands; }

void refuse_command(const std::string& word) {
  std::vector<std::string> names;
  std::string listed;
  for (const NamedCommand& command : kCommands) {
    names.emplace_back(command.name);
    listed += (listed.empty() ? "" : &command == &kCommands.back() ? " or " : ", ") + names.back();
  }
  const std::string near = nearest_word(word, names);
  throw Error(ExitCode::kUsage,
              "no command '" + word + "'; " + (near.empty() ? "expected " + listed : "did you mean " + near + "?"));
}

std::string usage() {
  std::string text = "usage: eave COMMAND [options]\n\n";
  for (const NamedCommand& command : kCommands) text += format("  %-12s %s\n", command.name, command.summary);
  return text +
         "\neave COMMAND --help lists the options of a command; eave --version prints the version.\n"
         "The guide's glossary, mpi_launch/guide/glossary.md, defines the words of messages and tables.\n";
}

CommandLine help_command_line() {
  CommandLine line(
      "usage: eave help [COMMAND [--plugin PATHS]]\n"
      "       eave help --format FORMAT [--plugin PATHS]\n\n"
      "Lists the commands, or the options of one, or prints all their help in another form.");
  line.add_group("Output", {choice("format", {"text", "man", "markdown", "bash", "zsh", "fish"}, "text",
                                   "text: list of commands; man: manual page; markdown: page of all options; bash, "
                                   "zsh, fish: completions for that shell")});
  line.add_group("Methods of your own", {plugin_option()});
  return line;
}

namespace {

bool takes_plugins(const NamedCommand& command) {
  return command.options().declared().entries().contains("plugin") || *command.also_takes != '\0';
}

// Behind a command, help takes --plugin alone.
void require_plugins_only(const NamedCommand& command, const std::vector<std::string>& words) {
  if (words.size() == 1) return;
  if (!takes_plugins(command) || !words[1].starts_with("--plugin")) {
    throw Error(ExitCode::kUsage, "unexpected word '" + words[1] + "' behind eave help " + words.front() +
                                      ", which takes no more" + (takes_plugins(command) ? " than --plugin" : ""));
  }
  CommandLine line("");
  line.add_group("", {plugin_option()});
  require_loaded(line.parse({words.begin() + 1, words.end()}));
}

std::string help_of_command(const std::vector<std::string>& words) {
  const auto command = std::ranges::find(kCommands, words.front(), &NamedCommand::name);
  if (command == kCommands.end()) refuse_command(words.front());
  require_plugins_only(*command, words);
  return command->options().help();
}

std::string help_in_format(const OptionValues& values) {
  require_loaded(values);
  const std::string& format = values.text("format");
  if (format == "man") return manual_page();
  if (format == "markdown") return options_page();
  if (format == "bash") return bash_completion();
  if (format == "zsh") return zsh_completion();
  return format == "fish" ? fish_completion() : usage();
}

}  // namespace

int help_command(const std::vector<std::string>& words, const char* const* environment) {
  const bool is_of_command = !words.empty() && !words.front().starts_with("-");
  const auto command = std::ranges::find(kCommands, is_of_command ? words.front() : "help", &NamedCommand::name);
  // EAVE_PLUGIN is for the commands: a shell's profile and eave's own build call `help --format` whatever it says.
  const char* const without_variables[] = {nullptr};
  if (!words.empty() && command != kCommands.end() && takes_plugins(*command)) {
    if (const int code = load_plugins(words, is_of_command ? environment : without_variables); code != 0) return code;
  }
  const CommandLine line = help_command_line();
  std::string text;
  const auto read = [&] { text = is_of_command ? help_of_command(words) : help_in_format(line.parse(words)); };
  return run_command_once(words, line.help(), read, [&] { std::fputs(text.c_str(), stdout); });
}

}  // namespace eave
