// Implements `eave compare`: trains with several methods inside one job, and reports which is best.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "app/commands/report_runs.h"
#include "app/compare/compare_grid.h"
#include "app/compare/compare_runs.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/launch.h"
#include "app/main/plugins.h"
#include "app/main/rank_consistency.h"
#include "app/options/option_sources.h"
#include "app/options/shared_options.h"
#include "app/run/run_settings.h"
#include "base/files/directory_lock.h"
#include "base/files/file_errors.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "guard/leave.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"
#include "transport/core/failure.h"

namespace eave {

CommandLine compare_command_line() {
  CommandLine line(
      "usage: [mpirun -np P] eave compare [options] [options of train]\n\nTrains with each method, number of ranks, "
      "batch, learning rate and seed, one run after another, all else equal,\nand reports which is best. Options of "
      "train (eave train --help) hold for every run. Append options of one method to its\nname: --communicators "
      "allreduce,easgd:tau=10:alpha=0.1. Every comparison includes allreduce and one rank alone. (With a budget\nof "
      "bytes, it leaves out one rank alone, which sends none.)");
  line.add_group("Comparison", compare_options());
  return line;
}

namespace {

struct CompareRequest {
  OptionValues own;
  Settings of_train;
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

CompareRequest read_comparison(const CommandLine& line, const std::vector<std::string>& words,
                               const char* const* environment) {
  const ComparedWords parted = split_words(words);
  CompareRequest comparison{line.parse(parted.own, environment), parted.of_train};
  comparison.transport = setting(parted.of_train, "transport", "auto");
  refuse_launcher(comparison.transport);
  if (starts_ranks(comparison.transport)) comparison.threads = std::max(most_ranks(comparison.own), 2);
  return comparison;
}

std::set<std::string> names_of(const std::vector<OptionSpec>& options) {
  std::set<std::string> names;
  for (const OptionSpec& option : options) names.insert(option.name);
  return names;
}

RankSettings settings_of_rank(const CompareRequest& comparison) {
  RankSettings settings{{"command", "compare"}};
  for (const auto& [name, entry] : comparison.own.entries()) settings["--" + name] = entry.text;
  for (const auto& [name, value] : comparison.of_train) {
    if (!options_of_files().contains(name) && name != "progress") settings["--" + name] = value;
  }
  return settings;
}

struct Part {
  std::size_t number = 0, of = 0;
};

Part part_of(const OptionValues& own) {
  constexpr std::int64_t kMostParts = 1'000'000;
  const std::vector<std::string> numbers = parts_of(own.text("part"), '/', own, "part");
  if (numbers.size() != 2) refuse_option(own, "part", "expected a part and the number of parts, such as 2/10");
  const std::int64_t of = integer_item(numbers[1], own, "part", 1, kMostParts);
  return {static_cast<std::size_t>(integer_item(numbers[0], own, "part", 1, of)), static_cast<std::size_t>(of)};
}

// Keeps only the groups that --part names.
void keep_part(Grid& grid, const OptionValues& own) {
  if (!own.has("part")) return;
  const auto [number, of] = part_of(own);
  if (number > grid.groups.size()) {
    refuse_option(own, "part", "has no run: there are " + count_text(grid.groups.size(), "group") + " of runs");
  }
  std::vector<RunGroup> kept;
  for (std::size_t i = number - 1; i < grid.groups.size(); i += of) kept.push_back(grid.groups[i]);
  grid.groups = kept;
}

constexpr const char* kSettingsFile = "comparison.json";  // the settings that all runs in a directory share

// Whether a file may come from another part that has just begun: a lock, or settings that it is writing.
bool is_of_a_beginning(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(kSettingsFile) || (name.starts_with("compare") && name.find(".lock") != std::string::npos);
}

constexpr const char* kPage = "report.html";

// Refuses a directory with files of another program: the report would overwrite them.
void refuse_foreign(const std::filesystem::path& path) {
  std::error_code error;
  bool has_something = false;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (holds_run(entry.path())) return;
    has_something = has_something || !is_of_a_beginning(entry.path());
  }
  // Checked last: a part that begins at the same time writes its settings before its runs.
  if (!has_something || std::filesystem::exists(path / kSettingsFile, error)) return;
  throw Error(ExitCode::kCannotCreate,
              "--output " + path.string() + ": holds files and no run; choose another directory");
}

// Writes the settings that all runs share, or compares them with those that are there. Methods, ranks, batches, rates
// and seeds may be added to a comparison later; shared settings may not change. If several parts begin together, one of
// them writes the file, and the others compare.
void prepare_output(const std::filesystem::path& path, const Settings& common) {
  constexpr std::chrono::seconds kMostPatience{60};
  const std::filesystem::path file = path / kSettingsFile;
  const std::map<std::string, std::string> mine(common.begin(), common.end());
  const DirectoryLock turn(path, "compare-settings.lock", "--output " + path.string(), kMostPatience);
  std::error_code error;
  if (std::filesystem::exists(file, error)) {
    return require_same_comparison(read_config(file), mine, path.string());
  }
  write_config(OutputFolder(path) / kSettingsFile, mine);
}

// Parts of a comparison share a directory. Each part has its own lock there, and so has each run.
std::string lock_name(const OptionValues& own) {
  if (!own.has("part")) return "compare.lock";
  const auto [number, of] = part_of(own);
  return "compare-" + std::to_string(number) + "-" + std::to_string(of) + ".lock";
}

std::unique_ptr<DirectoryLock> lock_output(const std::filesystem::path& path, const OptionValues& own) {
  const std::string what = "--output " + path.string();
  refuse_foreign(path);
  make_named_directory(path, what);
  auto lock = std::make_unique<DirectoryLock>(path, lock_name(own), what);
  if (lock->former()) {
    print_warning(what + ": took over the lock of a comparison that ended without freeing it (" +
                  lock->former()->describe() + ")");
  }
  return lock;
}

void tell_results(const OptionValues& own, const std::filesystem::path& output) {
  if (own.has("part")) {
    std::printf("\nwhen all parts are done: eave report %s\n", printable(output.string()).c_str());
    return;
  }
  std::puts("");
  const OutputFolder folder(output);
  report_runs({output}, {.page = folder / kPage, .variants_csv = folder / "variants.csv"});
}

// Handles requests to leave: if SIGUSR1 or SIGTERM reaches any rank, the whole job ends at once. Finished runs are
// kept.
class Leaving {
 public:
  Leaving(Transport& job, const std::string& output)
      : notice_(job.control(), job.rank(), ask_to_leave_by_signals(), [output] { leave(output); }),
        guard_(job.control(), {&notice_}) {}

 private:
  static void leave(const std::string& output) {
    constexpr ExitCode kCode = ExitCode::kLeftOnRequest;
    print_failure({kCode, "left on request; what is finished is kept in " + printable(output) +
                              ": the same command goes on with the rest"},
                  0, 1);
    _exit(static_cast<int>(kCode));
  }

  LeaveNotice notice_;
  Guard guard_;
};

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
    grid = read_grid(own, comparison.of_train, job.size());
    keep_part(grid, own);
  });
  CompareRuns runs(job, train_line, grid, environment, output, budget_of(own), own.text("side-by-side") == "auto");
  runs.check();
  if (own.flag("dry-run")) return runs.estimate();
  std::unique_ptr<DirectoryLock> lock;  // held by rank 0
  agree(job, [&] {
    if (job.rank() != 0) return;
    lock = lock_output(output, own);
    prepare_output(output, grid.settings);
    if (!own.has("part")) remove_output(OutputFolder(output) / kPage);  // the page exists only when all runs are done
  });
  runs.look_at_output();
  std::optional<Leaving> leaving;
  agree(job, [&] { leaving.emplace(job, output.string()); });
  runs.run(grid.first_cells(), grid.count());
  runs.run(grid.further_cells(runs.choose_rates()), grid.count());
  leaving.reset();  // the rest takes only a moment
  agree(job, [&] {
    if (job.rank() == 0) tell_results(own, output);
  });
}

}  // namespace

int compare_command(const std::vector<std::string>& words, const char* const* environment) {
  if (const int code = load_plugins(words, environment); code != 0) return code;
  const CommandLine line = compare_command_line();
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
