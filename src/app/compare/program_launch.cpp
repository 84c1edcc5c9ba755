#include "app/compare/program_launch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/options/option_values.h"
#include "base/options/spelling.h"
#include "eave/check.h"

namespace eave {
namespace {

bool is_on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  return std::ranges::any_of(split_text(path ? path : "", ':'), [&](const std::string& folder) {
    return ::access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0;
  });
}

bool has_option(const Words& words, const std::string& name) {
  return std::ranges::any_of(words, [&](const std::string& word) { return word.starts_with(name); });
}

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

ProgramLauncher choose_launcher(const LaunchPlace& place) {
  using Kind = ProgramLauncher::Kind;
  if (!place.variable("SLURM_JOB_ID").empty() && place.is_installed("srun")) return {Kind::kSrun, {"srun"}};
  if (place.is_installed("mpirun")) return {Kind::kMpirun, {"mpirun"}};
  if (place.is_installed("torchrun")) return {Kind::kTorchrun, {"torchrun"}};
  throw Error(
      ExitCode::kPeerLost,
      "--program needs mpirun, srun or torchrun to start its ranks, and none is on PATH: load the module of the "
      "MPI that eave was built with, or name one: --launcher /opt/openmpi/bin/mpirun");
}

// Options that let srun end all ranks when one fails, and give each the processors of its task.
Words options_of_srun(const ProgramLauncher& launcher, const LaunchPlace& place) {
  Words options;
  if (!has_option(launcher.words, "--mpi")) options.push_back("--mpi=pmix");
  if (!has_option(launcher.words, "--kill-on-bad-exit")) options.push_back("--kill-on-bad-exit=1");
  const std::string processors = place.variable("SLURM_CPUS_PER_TASK");
  if (!processors.empty() && !has_option(launcher.words, "--cpus-per-task"))
    options.push_back("--cpus-per-task=" + processors);
  return options;
}

Words options_of_torchrun(const ProgramLauncher& launcher) {
  // Each run needs a meeting place of its own; --standalone takes a free port.
  const bool meets_elsewhere = has_option(launcher.words, "--nnodes") || has_option(launcher.words, "--rdzv");
  return meets_elsewhere ? Words{"--no-python"} : Words{"--standalone", "--no-python"};
}

bool needs_quotes(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  return word.empty() || word.find_first_not_of(kPlain) != std::string::npos;
}

}  // namespace

LaunchPlace this_place() {
  return {[](const char* name) {
            const char* const value = std::getenv(name);
            return std::string(value ? value : "");
          },
          is_on_path};
}

Words words_of_command(const OptionValues& own, const std::string& option) {
  std::optional<Words> split = split_as_shell(own.text(option));
  if (!split) refuse_option(own, option, "a quote is not closed, or nothing follows the last backslash");
  Words words = std::move(*split);
  std::erase(words, "");
  if (words.empty()) refuse_option(own, option, "expected a command");
  return words;
}

ProgramLauncher read_launcher(const OptionValues& own, const LaunchPlace& place) {
  using Kind = ProgramLauncher::Kind;
  const Words words = words_of_command(own, "launcher");
  const std::string name = std::filesystem::path(words.front()).filename();
  if (name == "auto" && words.size() == 1) return choose_launcher(place);
  const bool is_mpirun = name.starts_with("mpirun") || name.starts_with("mpiexec");
  if (!is_mpirun && name != "srun" && name != "torchrun")
    refuse_option(own, "launcher", "expected auto, mpirun, srun or torchrun, perhaps with options of its own");
  if (!place.is_installed(words.front()))
    throw Error(
        ExitCode::kPeerLost,
        "--launcher " + words.front() + " is not on PATH: load its module or its Python environment, or name its path");
  return {is_mpirun ? Kind::kMpirun : name == "srun" ? Kind::kSrun : Kind::kTorchrun, words};
}

Words launch_command(const ProgramLauncher& launcher, int ranks, const Settings& variables, const Words& program,
                     const LaunchPlace& place) {
  using Kind = ProgramLauncher::Kind;
  const std::string count = std::to_string(ranks);
  Words words = {launcher.words.front()};
  if (launcher.kind == Kind::kTorchrun) {
    words.push_back("--nproc-per-node=" + count);
    append(words, options_of_torchrun(launcher));
  } else {
    append(words, {launcher.kind == Kind::kSrun ? "-n" : "-np", count});
    if (launcher.kind == Kind::kSrun) append(words, options_of_srun(launcher, place));
  }
  words.insert(words.end(), launcher.words.begin() + 1, launcher.words.end());
  words.push_back("env");
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  append(words, program);
  return words;
}

std::string shell_text(const Words& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + (needs_quotes(word) ? shell_quoted(word) : word);
  return text;
}

}  // namespace eave
