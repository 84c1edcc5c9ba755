// Implements `eave compare --program`: compares methods by trainings of a person's own program.
#include <algorithm>
#include <memory>
#include <set>

#include "app/compare/compare_output.h"
#include "app/compare/program_runs.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/options/option_sources.h"
#include "eave/check.h"
#include "eave/job.h"

namespace eave {
namespace {

// The program's ranks would not be the launcher's, and a launcher inside another's job fails in many ways.
void refuse_ranks() {
  if (!started_by_launcher()) return;
  throw Error(ExitCode::kUsage,
              "--program starts the ranks of each run by itself: start eave compare without mpirun or srun, and name "
              "numbers of ranks by --ranks");
}

// Variables that set compare's own options are not for the runs, and those of a run are its own.
std::set<std::string> names_apart() {
  std::set<std::string> names = {"run-dir", "started-by"};
  for (const OptionSpec& option : compare_options()) names.insert(option.name);
  for (const char* each : {"communicator", "seed", "lr", "batch", "steps", "seconds"})
    names.insert(std::string("program-") + each);
  return names;
}

// The library reads these variables, or a program may: they name files and places.
const std::set<std::string>& variables_of_programs() {
  static const std::set<std::string> kNames = {"data-dir", "limit-step", "meet", "meet-limit", "plugin", "stage-to"};
  return kNames;
}

// A program does not see the options of eave train, by whatever way they are given.
void refuse_variables_of_train(const char* const* environment) {
  const std::vector<const char*> others = environment_without(environment, names_apart());
  for (const Assignment& each : read_environment(others.data(), train_command_line().declared()).settings) {
    if (variables_of_programs().contains(each.name)) continue;
    throw Error(ExitCode::kUsage, "--" + each.name + " (" + each.source +
                                      ") has no effect with --program: it is an option of eave train; unset it");
  }
}

void compare(const OptionValues& own, Grid& grid, const char* const* environment) {
  keep_part(grid, own);
  ProgramRuns runs(grid, own, environment);
  const PageWords words = read_page_words(own);
  if (own.flag("dry-run")) return runs.show(grid.first_cells());
  const std::unique_ptr<DirectoryLock> lock = lock_output(own);
  prepare_output(own, grid.settings, [&](const std::filesystem::path& run) { return runs.keeps(run); });
  run_all(runs, grid, own);
  tell_results(own, words);
}

}  // namespace

bool names_program(const std::vector<std::string>& words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return word == "--program" || word.starts_with("--program="); });
}

int compare_programs(const CommandLine& line, const std::vector<std::string>& words, const char* const* environment) {
  OptionValues own;
  Grid grid;
  const auto read = [&] {
    refuse_ranks();
    const ComparedWords parted = split_words(words);
    own = line.parse(parted.own, environment_without(environment, {"program"}).data());
    refuse_page_words_of_part(own);
    grid = read_program_grid(own, parted.of_train);
    refuse_variables_of_train(environment);
  };
  return run_command_once(words, line.help(), read, [&] {
    const std::vector<const char*> of_runs = environment_without(environment, names_apart());
    compare(own, grid, of_runs.data());
  });
}

}  // namespace eave
