// The subcommands of eave. Each takes the words after its name and main's environment, and returns the process's exit
// code.
#pragma once

#include <string>
#include <vector>

namespace eave {

using Command = int(const std::vector<std::string>& words, const char* const* environment);

Command train_command;
Command summary_command;
Command report_command;
Command bench_comm_command;
Command compare_command;
Command checkpoint_command;
Command export_command;
Command doctor_command;
Command watch_command;

}  // namespace eave
