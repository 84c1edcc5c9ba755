#include "app/compare/compare_runs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>

#include "app/compare/program_launch.h"
#include "app/main/launch.h"
#include "app/main/plugins.h"
#include "app/main/rank_consistency.h"
#include "app/options/method_checks.h"
#include "app/options/training_plan.h"
#include "app/resume/checkpoint_location.h"
#include "app/resume/resumption.h"
#include "app/run/rank_guard.h"
#include "app/run/run_settings.h"
#include "app/run/training_run.h"
#include "base/host.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/communicator.h"
#include "eave/device.h"
#include "eave/optimizer.h"
#include "report/read/run_reader.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"
#include "report/record/summary.h"

namespace eave {
namespace {

using Clock = std::chrono::steady_clock;

// Makes the optimizer for a vector, which shows what it refuses.
void check_optimizer(const OptionValues& values) {
  constexpr std::int64_t kSize = 64;
  TensorInfo vector;
  vector.size = kSize;
  vector.shape = {kSize};
  find_kind(optimizer_kinds(), values.text("optimizer")).make({values, kSize, cpu_device(), {vector}, nullptr});
}

// Checks those options of a run that can be checked before it begins. `hosts`: of its ranks.
void check_values(const OptionValues& values, Transport& job, const std::vector<std::string>& hosts) {
  const CommunicatorKind& kind = find_kind(communicator_kinds(), values.text("communicator"));
  const auto ranks = static_cast<int>(hosts.size());
  const int workers = count_workers(kind, values, ranks);
  // The data is not loaded yet, and any number of samples shows whether the options fit. Scale 0 refuses --lr-scaling,
  // which has no effect if the method averages no gradients.
  const Schedule schedule(values, 1 << 20, 1 << 20, kind.traits.averages_gradients ? 1 : 0);
  check_method(kind, values, schedule.learning_rate(0), job, hosts);
  check_options_of_method(values, kind.traits, ranks, workers);
  if (kind.traits.uses_optimizer) check_optimizer(values);
  check_rollback(values);
  real_in(values, "clip-norm", 0, 1e30);
  values.integer("accumulate", 1, batch_of_rank(values, workers));
  if (values.has("slow-rank")) parse_slow_rank(values.text("slow-rank"), workers);
  values.real("epochs");
  values.real("evaluate-every");
}

// Whether the message refuses an option that another method may take, and that is not yet an option of one method.
bool may_suit_another_method(const std::string& message, const Settings& of_method) {
  const std::size_t at = message.find("has no effect");
  if (at == std::string::npos || !message.starts_with("--")) return false;
  const std::string name = message.substr(2, message.find_first_of(" =:", 2) - 2), why = message.substr(at + 13);
  const bool is_by_method =
      why.starts_with(" with --communicator ") || why.starts_with(":") || why.starts_with(" here:");
  return is_by_method && !has_setting(of_method, name);
}

// An error in the options of a run. If an option suits only some methods, says how to give it to one of them.
LinesError error_of_cell(const Cell& cell, const Settings& of_method, const Error& error, const std::string& budget) {
  std::vector<std::string> lines = message_lines_of(with_front(cell.label + ": ", error, error.code()));
  const std::string of_budget = "--max-tokens (command line)";  // the only budget that not all datasets accept
  const std::size_t at = budget.starts_with("tokens=") ? lines.front().find(of_budget) : std::string::npos;
  if (at != std::string::npos) {
    lines.front().replace(at, of_budget.size(), "--budget " + budget);
  } else if (may_suit_another_method(error.what(), of_method)) {
    lines.back() += ". Put an option of one method behind its name: --communicators easgd:tau=10";
  }
  return {error.code(), lines};
}

// Reads the run as the report will. Throws if it has finished, but its metrics lack the end.
RunRecord read_as_reported(const std::filesystem::path& directory) {
  RunRecord run = read_run(directory);
  if (state_of_run(directory) == RunState::kDiverged || run.end == RunEnd::kFinished) return run;
  throw Error(ExitCode::kBadData, (directory / "metrics.jsonl").string() + " lacks the end of its run");
}

std::vector<std::size_t> numbers_in(const std::string& text) {
  std::vector<std::size_t> found;
  std::istringstream numbers(text);
  for (std::size_t number = 0; numbers >> number;) found.push_back(number);
  return found;
}

}  // namespace

bool has_results(const std::filesystem::path& run) {
  const RunState state = state_of_run(run);
  return state == RunState::kFinished || state == RunState::kDiverged;
}

void require_same_comparison(const std::map<std::string, std::string>& saved,
                             const std::map<std::string, std::string>& mine, const std::string& place) {
  std::set<std::string> free = options_of_rank();
  // Only an older eave took --limit-checkpoint for a comparison.
  free.insert({"limit-checkpoint", "limit-setup", "limit-step", "progress", "run-dir"});
  free.erase("vocabulary");  // losses per token of different vocabularies are not comparable
  // Comparisons from before 2026-11-26 evaluated once an epoch. Their runs are kept.
  if (!saved.contains("evaluations") && mine.contains("evaluations"))
    free.insert({"evaluate-every", "evaluate-workers", "evaluations"});
  // Settings that an older eave did not write.
  for (const char* name : {kScriptSetting, "transport"})
    if (!saved.contains(name)) free.insert(name);
  const auto difference = find_difference(saved, mine, free);
  if (!difference) return;
  if (difference->name == kScriptSetting) return require_same_script(difference->saved, difference->mine, place);
  throw Error(ExitCode::kConfiguration,
              "--output: what is in " + place + " was made with --" + difference->name + " " + difference->saved +
                  ", now it is " + difference->mine +
                  (difference->name == "validation-share" ? " (several rates need one)" : "") +
                  "; choose another directory for this comparison");
}

int blocks_side_by_side(const std::vector<std::string>& hosts, int ranks) {
  const auto size = static_cast<std::ptrdiff_t>(ranks);
  const auto block = [&](std::ptrdiff_t number) {
    const auto first = hosts.begin() + number * size;
    return std::vector<std::string>(first, first + size);
  };
  // The number of ranks on each host of a block, sorted.
  const auto shape = [](const std::vector<std::string>& names) {
    std::map<std::string, int> counts;
    for (const std::string& name : names) ++counts[name];
    std::vector<int> sizes;
    for (const auto& [unused, count] : counts) sizes.push_back(count);
    std::ranges::sort(sizes);
    return sizes;
  };
  const std::vector<int> first = shape(block(0));
  std::set<std::string> taken;
  std::ptrdiff_t number = 0;
  for (; (number + 1) * size <= static_cast<std::ptrdiff_t>(hosts.size()); ++number) {
    const std::vector<std::string> names = block(number);
    const bool is_apart = std::ranges::none_of(names, [&](const std::string& name) { return taken.contains(name); });
    if (!is_apart || shape(names) != first) break;
    taken.insert(names.begin(), names.end());
  }
  return static_cast<int>(std::max<std::ptrdiff_t>(number, 1));
}

CompareRuns::CompareRuns(Transport& job, const CommandLine& train_line, const Grid& grid,
                         const char* const* environment, std::filesystem::path output, std::string budget,
                         bool side_by_side)
    : job_(job),
      line_(train_line),
      grid_(grid),
      environment_(environment),
      output_(std::move(output)),
      hosts_(job.all_gather(host_name())),
      budget_(std::move(budget)),
      side_by_side_(side_by_side),
      progress_(grid, job.rank() == 0) {}

std::vector<std::string> CompareRuns::outputs_of(const Cell& cell) const {
  return {"--run-dir=" + (output_ / cell.name).string(), "--overwrite=on", "--checkpoint=off"};
}

OptionValues CompareRuns::parse(const Cell& cell, const std::vector<std::string>& more) const {
  std::vector<std::string> words = grid_.words_of(cell);
  words.insert(words.end(), more.begin(), more.end());
  // A lone rank has no use for it, wherever it is given; Grid::words_of leaves out that of the command line.
  std::set<std::string> left_out;
  if (grid_.groups[cell.group].ranks == 1) left_out.insert("slow-rank");
  try {
    OptionValues values = line_.parse(words, environment_, left_out);
    if (const std::vector<std::string> spread = words_of_evaluations(values); !spread.empty()) {
      words.insert(words.end(), spread.begin(), spread.end());
      values = line_.parse(words, environment_, left_out);
    }
    require_loaded(values);
    return values;
  } catch (const Error& error) {
    throw error_of_cell(cell, grid_.groups[cell.group].method.options, error, budget_);
  }
}

std::vector<OptionValues> CompareRuns::first_values() const {
  std::vector<OptionValues> all;
  for (const Cell& cell : grid_.first_cells()) all.push_back(parse(cell, {}));
  return all;
}

// Also detects a rank whose options file or EAVE_* variables differ from the others'.
void CompareRuns::require_same_runs() {
  RankSettings settings;
  for (const Cell& cell : grid_.first_cells()) {
    for (const auto& [name, value] : line_.config_in_force(parse(cell, {}))) {
      if (!options_of_rank().contains(name)) settings[cell.label + ": --" + name] = value;
    }
  }
  require_same_start(job_, settings);
}

void CompareRuns::check() {
  agree(job_, [&] {
    std::vector<CellSettings> cells;
    for (const Cell& cell : grid_.first_cells()) {
      const OptionValues values = parse(cell, outputs_of(cell));
      const RunGroup& group = grid_.groups[cell.group];
      cells.push_back({group.label(), group.ranks, line_.config_in_force(values)});
      check_limits(values, job_.control() && job_.calls());
      try {
        check_values(values, job_, {hosts_.begin(), hosts_.begin() + group.ranks});
        require_budget_alone(budget_, values);
      } catch (const Error& error) {
        throw error_of_cell(cell, grid_.groups[cell.group].method.options, error, budget_);
      }
    }
    refuse_equal_runs(cells);
  });
  require_same_runs();
}

void CompareRuns::look_at_output() {
  const auto goes_beside = [this](const RunGroup& group) { return blocks_side_by_side(hosts_, group.ranks) > 1; };
  if (!side_by_side_ || std::ranges::none_of(grid_.groups, goes_beside)) return;
  const std::vector<int> without_access = find_ranks_without_access(job_, output_);
  if (without_access.empty()) return;
  side_by_side_ = false;
  warn({printable(describe_ranks_without_access(without_access, hosts_, "--output " + output_.string())) +
        ": the runs go one after another, not side by side"});
}

std::optional<RunRecord> CompareRuns::kept_run(const Cell& cell) const {
  const std::filesystem::path directory = output_ / cell.name;
  if (!has_results(directory)) return std::nullopt;
  RunRecord run;
  std::map<std::string, std::string> config;
  try {
    config = read_config(directory / "config.json");
    run = read_as_reported(directory);
  } catch (const Error& error) {
    print_warning(std::string(error_of_run(directory, error).what()) + "; the run is made anew");
    return std::nullopt;
  }
  require_same_comparison(config, line_.config_in_force(parse(cell, outputs_of(cell))), directory.string());
  run.name = directory.string();
  return run;
}

// Tells the guard that this rank makes progress while the others wait for it.
void CompareRuns::move() {
  if (rank_progress_) rank_progress_->move();
}

// Rank 0 reads the files. Runs of an older eave recorded no identity of their data.
std::vector<std::size_t> CompareRuns::left_of(const std::vector<Cell>& cells) {
  std::map<std::size_t, RunRecord> kept;
  std::string left, known;
  agree(job_, [&] {
    for (std::size_t i = 0; i < cells.size() && is_first(); ++i) {
      std::optional<RunRecord> run = kept_run(cells[i]);
      move();
      if (!run) {
        left += std::to_string(i) + " ";
      } else if (!run->data_identity.empty()) {
        known += std::to_string(i) + " ";
        kept[i] = std::move(*run);
      }
    }
  });
  for (const std::size_t i : numbers_in(job_.broadcast_text(known)))
    inputs_.require_same(job_, hosts_, parse(cells[i], {}), is_first() ? &kept.at(i) : nullptr, [this] { move(); });
  return numbers_in(job_.broadcast_text(left));
}

// Carries out the runs, or trials of so many steps, at the same time, each in its own block of ranks.
std::vector<CellOutcome> CompareRuns::run_together(const std::vector<Cell>& cells, std::int64_t trial_steps) {
  const int ranks = grid_.groups[cells.front().group].ranks, block = job_.rank() / ranks;
  const bool takes_part = block < static_cast<int>(cells.size());
  std::string outcome;
  std::vector<std::string> warnings;
  std::optional<LinesError> failure;
  if (const std::unique_ptr<Transport> part = job_.split(takes_part ? block : -1)) {
    const Cell& cell = cells[static_cast<std::size_t>(block)];
    const OptionValues values = parse(cell, outputs_of(cell));
    try {
      const RunSummary summary = run_training(*part, line_, values,
                                              {.is_part = true,
                                               .output = output_,
                                               .warnings = &warnings,
                                               .checked = &inputs_.checked,
                                               .progress = rank_progress_,
                                               .trial_steps = trial_steps});
      if (part->rank() == 0) outcome = summary_text(summary);
    } catch (const AgreedError& error) {
      if (error.code() != ExitCode::kDiverged) failure.emplace(with_front(cell.label + ": ", error, error.code()));
      if (part->rank() == 0) outcome = error.what();
    }
  }
  agree(job_, [&] {
    if (failure) throw *failure;
  });
  warn(warnings);
  const std::vector<std::string> texts = job_.all_gather(outcome);
  std::vector<CellOutcome> outcomes;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string& text = texts[i * static_cast<std::size_t>(ranks)];
    const bool has_failed = !text.starts_with("{");
    outcomes.push_back({has_failed, has_failed ? text : "", has_failed ? RunSummary() : summary_of(text, "a run")});
  }
  return outcomes;
}

// Prints each warning once, even if many runs have it. Only the first block's warnings are printed, as the others are
// alike.
void CompareRuns::warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    if (!warned_.insert(warning).second || !is_first()) continue;
    std::fprintf(stderr, "eave: warning: %s\n", printable_lines(warning).c_str());
  }
}

void CompareRuns::run(const std::vector<Cell>& cells, std::size_t of_all) {
  const std::vector<std::size_t> left = left_of(cells);
  progress_.begin(of_all, cells.size() - left.size(), cells.size());
  for (std::size_t next = 0; next < left.size();) {
    const int ranks = grid_.groups[cells[left[next]].group].ranks;
    const auto blocks = static_cast<std::size_t>(side_by_side_ ? blocks_side_by_side(hosts_, ranks) : 1);
    std::vector<Cell> together;
    for (; next < left.size() && together.size() < blocks && grid_.groups[cells[left[next]].group].ranks == ranks;
         ++next)
      together.push_back(cells[left[next]]);
    const Clock::time_point start = Clock::now();
    const std::vector<CellOutcome> outcomes = run_together(together);
    progress_.add_time(std::chrono::duration<double>(Clock::now() - start).count(), together.size());
    for (std::size_t i = 0; i < together.size(); ++i) progress_.tell(together[i], outcomes[i]);
  }
}

std::vector<const std::string*> CompareRuns::choose_rates() {
  std::string text;
  agree(job_, [&] {
    for (std::size_t group = 0; group < grid_.groups.size() && is_first(); ++group) {
      text += std::to_string(best_rate(grid_, group, output_)) + " ";
      move();
    }
  });
  std::istringstream numbers(job_.broadcast_text(text));
  std::vector<const std::string*> chosen;
  for (const RunGroup& group : grid_.groups) {
    int number = -1;
    numbers >> number;
    chosen.push_back(number < 0 ? nullptr : &group.rates[static_cast<std::size_t>(number)]);
  }
  return chosen;
}

std::vector<OptionStep> CompareRuns::choose_steps(const std::vector<const std::string*>& chosen) {
  std::string text;
  agree(job_, [&] {
    if (is_first()) text = text_of(option_steps(grid_, chosen, output_));
  });
  return steps_in(job_.broadcast_text(text));
}

}  // namespace eave
