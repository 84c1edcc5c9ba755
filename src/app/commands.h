// The subcommands of eave.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/command_line.h"

namespace eave {

// Takes the words after its name and main's environment, and returns the process's exit code.
using Command = int(const std::vector<std::string>& words, const char* const* environment);

struct NamedCommand {
  const char* name;
  const char* summary;
  Command* run;
  CommandLine (*options)();
  const char* first_words = "";  // one of these comes before all others: "ls verify export"
  bool takes_paths = false;      // words of it that are no options name files or directories
  const char* also_takes = "";   // the command whose options it takes, too
  bool may_leave = false;        // on request, by SIGUSR1
};

std::span<const NamedCommand> commands();

// What `eave --help` prints.
std::string usage();

Command train_command;
Command summary_command;
Command report_command;
Command bench_comm_command;
Command compare_command;
Command checkpoint_command;
Command export_command;
Command doctor_command;
Command watch_command;
Command plan_command;
Command help_command;

// That of train is in train_options.h.
CommandLine summary_command_line();
CommandLine report_command_line();
CommandLine bench_comm_command_line();
CommandLine compare_command_line();
CommandLine checkpoint_command_line();
CommandLine export_command_line();
CommandLine doctor_command_line();
CommandLine watch_command_line();
CommandLine plan_command_line();
CommandLine help_command_line();

}  // namespace eave
