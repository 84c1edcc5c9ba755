// The subcommands of eave. Each takes the words after its name and returns the process's exit code.
#pragma once

#include <string>
#include <vector>

namespace eave {

int train_command(const std::vector<std::string>& words, const char* const* environment);
int summary_command(const std::vector<std::string>& words);
int bench_comm_command(const std::vector<std::string>& words);

}  // namespace eave
