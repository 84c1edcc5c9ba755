// The command lines that start the ranks of a person's program by mpirun, srun or torchrun, and the script in them.
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

// The facts by which a launcher is chosen. Tests have an environment of their own.
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

// program_script.cpp implements what follows.

inline constexpr const char* kScriptSetting = "program-script";  // in comparison.json

// The script that the command runs: its first word, if that file begins with "#!", else the first word that names a
// file with the suffix of a script. "" if there is none: `python3 -m pkg.train`.
std::string script_of(const Words& command);

// The script and a hash of it: "train.py 0123..."; "" if there is none that can be read.
std::string identity_of_script(const Words& command);

// Throws Error(kConfiguration) if the runs in `place` are those of another script. Both scripts are from
// identity_of_script, and `saved` is not "".
void require_same_script(const std::string& saved, const std::string& mine, const std::string& place);

}  // namespace eave
