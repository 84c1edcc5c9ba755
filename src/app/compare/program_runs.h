// Carries out the runs of a comparison of a person's own program: eave compare --program "python3 train.py".
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "app/compare/compare_grid.h"
#include "app/compare/compare_runs.h"
#include "app/compare/program_launch.h"
#include "app/compare/program_process.h"
#include "eave/options.h"

namespace eave {

// The grid of a comparison of --program: as that of built-in comparisons, except that the program may choose the batch,
// and that there are no options of train. Checks the methods' options. Throws Error(kUsage).
Grid read_program_grid(const OptionValues& own, const Settings& of_train);

// The environment variables of a run's ranks. include/python/eave/_program.py reads them.
Settings variables_of_run(const Grid& grid, const Cell& cell, const OptionValues& own);

// Whether the words of `eave compare` have --program.
bool names_program(const std::vector<std::string>& words);
// `eave compare --program`. Returns the exit code.
int compare_programs(const CommandLine& line, const std::vector<std::string>& words, const char* const* environment);

// Runs one after another, each as a job of its own. A run that fails ends the comparison with one message, which has
// the last lines of its output; a run that diverged does not.
class ProgramRuns {
 public:
  // `environment` is that of the runs' ranks, besides variables_of_run.
  ProgramRuns(const Grid& grid, const OptionValues& own, const char* const* environment);

  // Carries out the runs that have no results yet. `of_all`: the number of runs of the whole comparison. Throws Error:
  // of a run that failed, kConfiguration if the script has changed, or kLeftOnRequest after SIGUSR1, SIGTERM or Ctrl-C.
  void run(const std::vector<Cell>& cells, std::size_t of_all);
  // As CompareRuns::choose_rates.
  std::vector<const std::string*> choose_rates() const;
  std::vector<OptionStep> choose_steps(const std::vector<const std::string*>& chosen) const;
  // Whether the directory holds a run whose results the comparison keeps: finished with the scores that it needs, or
  // diverged. Throws Error if it cannot be read.
  bool keeps(const std::filesystem::path& directory) const;
  // Prints the command of each run.
  void show(const std::vector<Cell>& cells) const;

 private:
  // The files of a run, in --output. `taken` exists once the program has taken its method.
  struct Files {
    std::filesystem::path run, log, taken;
  };
  Files files_of(const Cell& cell) const;
  Words command_of(const Cell& cell) const;
  bool was_run(const Cell& cell) const;
  void require_unchanged_script() const;
  CellOutcome make(const Cell& cell);
  ProcessEnd carry_out(const Cell& cell, const Files& files);
  CellOutcome judge(const Cell& cell, const Files& files, const ProcessEnd& end) const;

  const Grid& grid_;
  const OptionValues& own_;
  const char* const* environment_;
  const LaunchPlace place_ = this_place();
  const std::filesystem::path output_;
  const Words program_;
  const ProgramLauncher launcher_;
  bool was_silent_ = false;  // the run that has ended last
  CompareProgress progress_;
};

}  // namespace eave
