// Implements `eave compare`: trains with several methods inside one job, and reports which is best.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "app/compare/compare_grid.h"
#include "app/compare/compare_guard.h"
#include "app/compare/compare_output.h"
#include "app/compare/compare_runs.h"
#include "app/compare/program_runs.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/main/plugins.h"
#include "app/main/rank_consistency.h"
#include "app/options/option_sources.h"
#include "app/options/shared_options.h"
#include "app/run/run_settings.h"
#include "base/files/directory_lock.h"
#include "base/options/option_values.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {

CommandLine compare_command_line() {
  CommandLine line(
      "usage: [mpirun -np P] eave compare [options] [options of train]\n\n"
      "Trains with each method, number of ranks and batch at each learning rate, repeats the best rate with further "
      "seeds,\n"
      "all else equal, and reports which method is best. Options of train (eave train --help) hold for every run. "
      "Append\n"
      "options of one method to its name: --communicators allreduce,easgd:tau=10:alpha=0.1. Every comparison includes\n"
      "allreduce and one rank alone. (With a budget of bytes, it leaves out one rank alone, which sends none.)\n\n"
      "With --program 'python3 train.py' it starts a program of your own under each method instead, with mpirun, srun "
      "or torchrun.");
  line.add_group("Comparison", compare_options());
  return line;
}

namespace {

std::set<std::string> names_of(const std::vector<OptionSpec>& options) {
  std::set<std::string> names;
  for (const OptionSpec& option : options) names.insert(option.name);
  return names;
}

struct CompareRequest {
  OptionValues own;
  Settings of_train;
  std::string share = kUsualShare;  // --validation-share of runs from which a rate is chosen
  std::string transport = "auto";
  int threads = 0;
};

std::string setting(const Settings& settings, const std::string& name, const std::string& otherwise) {
  std::string value = otherwise;
  for (const auto& [each, text] : settings) {
    if (each == name) value = text;
  }
  return value;
}

// Takes what --config and the environment say, and refuses unknown options. Sets where ranks meet.
void read_other_sources(const CommandLine& train_line, const char* const* environment, CompareRequest& comparison) {
  std::vector<std::string> words;
  for (const auto& [name, text] : comparison.of_train) words.push_back("--" + name + "=" + text);
  const std::vector<const char*> of_runs = environment_without(environment, names_of(compare_options()));
  const OptionValues given = train_line.read(words, of_runs.data());
  take_other_sources(given, comparison.own, comparison.of_train);
  if (given.has("validation-share")) comparison.share = given.text("validation-share");
  ranks_in_process(given);
}

CompareRequest read_comparison(const CommandLine& line, const std::vector<std::string>& words,
                               const char* const* environment) {
  const ComparedWords parted = split_words(words);
  CompareRequest comparison{line.parse(parted.own, environment_without(environment, {"program"}).data()),
                            parted.of_train};
  for (const char* name : {"launcher", "limit-silence"})
    if (comparison.own.given(name)) refuse_option(comparison.own, name, "has no effect without --program");
  refuse_page_words_of_part(comparison.own);
  read_other_sources(train_command_line(), environment, comparison);
  comparison.transport = setting(comparison.of_train, "transport", "auto");
  refuse_launcher(comparison.transport);
  if (starts_ranks(comparison.transport)) comparison.threads = std::max(most_ranks(comparison.own), 2);
  return comparison;
}

RankSettings settings_of_rank(const CompareRequest& comparison) {
  RankSettings settings{{"command", "compare"}};
  for (const auto& [name, entry] : comparison.own.entries()) settings["--" + name] = entry.text;
  for (const auto& [name, value] : comparison.of_train) {
    if (!options_of_rank().contains(name) && name != "progress") settings["--" + name] = value;
  }
  return settings;
}

void compare_on(Transport& job, const CompareRequest& comparison, const char* const* environment) {
  require_same_start(job, settings_of_rank(comparison));
  const OptionValues& own = comparison.own;
  const std::filesystem::path output = own.text("output");
  const CommandLine train_line = train_command_line();
  agree(job, [&] {
    const std::string unknown = train_line.warn_of_variables(environment);
    if (job.rank() == 0) print_warning(unknown);
  });
  Grid grid;
  agree(job, [&] {
    grid = read_grid(own, comparison.of_train, job.size(), comparison.share);
    keep_part(grid, own);
  });
  CompareRuns runs(job, train_line, grid, environment, output, budget_of(own), own.text("side-by-side") == "auto");
  runs.check();
  PageWords words;  // of rank 0; read before hours of training
  agree(job, [&] {
    if (job.rank() == 0) words = read_page_words(own);
  });
  if (own.flag("dry-run")) return runs.estimate();
  std::unique_ptr<DirectoryLock> lock;  // held by rank 0
  agree(job, [&] {
    if (job.rank() != 0) return;
    lock = lock_output(own);
    prepare_output(own, grid.settings, has_results);
  });
  runs.look_at_output();
  {
    CompareGuard guard(job, runs.first_values(), runs.hosts(), output.string(), comparison.threads > 0);
    runs.report_to(guard.rank_progress());
    run_all(runs, grid, own);
    agree(job, [] {});  // no rank waits for another one now; the rest takes only a moment
  }
  agree(job, [&] {
    if (job.rank() == 0) tell_results(own, words);
  });
}

}  // namespace

int compare_command(const std::vector<std::string>& words, const char* const* environment) {
  if (const int code = load_plugins(words, environment); code != 0) return code;
  const CommandLine line = compare_command_line();
  if (names_program(words)) return compare_programs(line, words, environment);
  CompareRequest comparison;
  return run_command(
      words, line.help(), [&] { comparison = read_comparison(line, words, environment); },
      [&] {
        // Variables such as EAVE_BATCH=32,128 are compare's: the grid gives each run its own value.
        const std::vector<const char*> of_runs = environment_without(environment, names_of(compare_options()));
        return run_ranks(comparison.transport, comparison.threads,
                         [&](Transport& job) { compare_on(job, comparison, of_runs.data()); });
      });
}

}  // namespace eave
