// Carries out the runs of a comparison inside one job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/compare/compare_grid.h"
#include "app/compare/compare_inputs.h"
#include "app/compare/compare_progress.h"
#include "app/compare/compare_widening.h"
#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/transport.h"
#include "guard/rank_progress.h"

namespace eave {

// How many blocks of `ranks` consecutive ranks can train at the same time without sharing a host. The blocks begin at
// rank 0, and all have as many ranks on each host as the first. At least 1.
int blocks_side_by_side(const std::vector<std::string>& hosts, int ranks);

// Whether the directory holds a run that has finished or diverged. A comparison keeps such runs, if it can read them.
bool has_results(const std::filesystem::path& run);

// Throws Error(kConfiguration), which names the first setting in which the comparison saved in `place` differs from
// this one. Options that only name files, and how a run is watched, may differ.
void require_same_comparison(const std::map<std::string, std::string>& saved,
                             const std::map<std::string, std::string>& mine, const std::string& place);

// All public functions are collective among the ranks of the job.
class CompareRuns {
 public:
  // `job` is the transport of the whole job. All other arguments are the same on every rank.
  CompareRuns(Transport& job, const CommandLine& train_line, const Grid& grid, const char* const* environment,
              std::filesystem::path output, std::string budget, bool side_by_side);

  // Checks the options of every run. Throws AgreedError.
  void check();
  // Call this once rank 0 has created the output directory. Each run's results are on the host of its first rank. So if
  // some rank does not see rank 0's directory, all runs use the ranks from 0 on, one run after another.
  void look_at_output();
  // The options of the first run of each method, rate and number of ranks.
  std::vector<OptionValues> first_values() const;
  const std::vector<std::string>& hosts() const { return hosts_; }  // of every rank
  // From now on, the runs report this rank's progress here.
  void report_to(RankProgress& progress) { rank_progress_ = &progress; }
  // Carries out the runs that have no results yet. `of_all`: the number of runs of the whole comparison, for the
  // progress lines. A diverged run is reported and does not end the comparison; any other failure does.
  void run(const std::vector<Cell>& cells, std::size_t of_all);
  // The rate of each group that a report of its first runs chooses; nullptr if all of them diverged.
  std::vector<const std::string*> choose_rates();
  // As option_steps, which rank 0 finds from its files.
  std::vector<OptionStep> choose_steps(const std::vector<const std::string*>& chosen);
  // Runs a few steps of the first cell of each group and prints what the comparison will cost. Writes no files.
  void estimate();

 private:
  void require_same_runs();
  OptionValues parse(const Cell& cell, const std::vector<std::string>& more) const;
  std::vector<std::string> outputs_of(const Cell& cell) const;
  bool is_first() const { return job_.rank() == 0; }
  std::optional<RunRecord> kept_run(const Cell& cell) const;
  void move();
  std::vector<std::size_t> left_of(const std::vector<Cell>& cells);
  std::vector<CellOutcome> run_together(const std::vector<Cell>& cells, std::int64_t trial_steps = 0);
  void warn(const std::vector<std::string>& warnings);  // lines must be printable

  Transport& job_;
  const CommandLine& line_;
  const Grid& grid_;
  const char* const* environment_;
  const std::filesystem::path output_;
  const std::vector<std::string> hosts_;
  const std::string budget_;  // "" if none is given
  bool side_by_side_;
  ComparedInputs inputs_;
  std::set<std::string> warned_;
  CompareProgress progress_;
  RankProgress* rank_progress_ = nullptr;
};

}  // namespace eave
