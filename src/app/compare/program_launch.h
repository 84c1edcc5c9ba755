// The command lines that start the ranks of a person's program: mpirun, srun or torchrun.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/compare/compare_grid.h"
#include "eave/options.h"

namespace eave {

using Words = std::vector<std::string>;

struct ProgramLauncher {
  enum class Kind { kMpirun, kSrun, kTorchrun };
  Kind kind = Kind::kMpirun;
  Words words;  // its program, then options of its own that a person gave
};

// What a launcher is chosen by. Tests have an environment of their own.
struct LaunchPlace {
  std::function<std::string(const char*)> variable;      // of the environment; "" if it is not set
  std::function<bool(const std::string&)> is_installed;  // whether a program is on PATH
};
LaunchPlace this_place();

// Reads --launcher. "auto" is srun in a Slurm job, else mpirun, else torchrun, whichever is installed. Throws Error:
// kUsage (another launcher), kPeerLost (it is not installed).
ProgramLauncher read_launcher(const OptionValues& own, const LaunchPlace& place);

// Splits a command as a shell would: blanks separate words, quotes and backslashes keep them together. Variables and
// wildcards stay as they are. Throws Error(kUsage) if there is no word.
Words words_of_command(const OptionValues& own, const std::string& option);

// The words that start `ranks` ranks of `program`, with these variables in the environment of each. The variables go
// through env(1), which all launchers can start on any host.
Words launch_command(const ProgramLauncher& launcher, int ranks, const Settings& variables, const Words& program,
                     const LaunchPlace& place);

// The words as a person would type them in a shell.
std::string shell_text(const Words& words);

}  // namespace eave
