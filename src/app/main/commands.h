// The table of eave's subcommands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/main/command_line.h"

namespace eave {

// Takes the words after the command's name and main's environment. Returns the process's exit code.
using Command = int(const std::vector<std::string>& words, const char* const* environment);

struct NamedCommand {
  const char* name;
  const char* summary;
  Command* run;
  CommandLine (*options)();
  // One of these words comes before all others: "ls verify export". help takes none too.
  const char* first_words = "";
  bool takes_paths = false;     // words that are not options name files or directories
  const char* also_takes = "";  // the command whose options it takes too
  bool may_leave = false;       // SIGUSR1 asks it to end early and keep its results
};

std::span<const NamedCommand> commands();

// Throws Error(kUsage): there is no such command, with the nearest one or all of them.
[[noreturn]] void refuse_command(const std::string& word);

// The text of `eave --help`.
std::string usage();

Command train_command;
Command summary_command;
Command report_command;
Command bench_comm_command;
Command compare_command;
Command checkpoint_command;
Command export_command;
Command generate_command;
Command doctor_command;
Command watch_command;
Command plan_command;
Command suggest_command;
Command help_command;

CommandLine train_command_line();
CommandLine summary_command_line();
CommandLine report_command_line();
CommandLine bench_comm_command_line();
CommandLine compare_command_line();
CommandLine checkpoint_command_line();
CommandLine export_command_line();
CommandLine generate_command_line();
CommandLine doctor_command_line();
CommandLine watch_command_line();
CommandLine plan_command_line();
CommandLine suggest_command_line();
CommandLine help_command_line();

}  // namespace eave
