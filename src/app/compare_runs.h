// Carries out the runs of a comparison, inside one job.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/compare_grid.h"
#include "app/sample_check.h"
#include "eave/options.h"
#include "eave/recorder.h"
#include "eave/transport.h"

namespace eave {

// The blocks of consecutive ranks that can train at the same time without sharing a host, the first ones of as many
// ranks with as many on each host. At least one.
int blocks_side_by_side(const std::vector<std::string>& hosts, int ranks);

// Throws Error(kConfiguration) naming the first setting that differs from that of what lies in `place`. Where it lies
// and how it is watched may differ.
void require_same_comparison(const std::map<std::string, std::string>& saved,
                             const std::map<std::string, std::string>& mine, const std::string& place);

// How a run ended.
struct CellOutcome {
  bool has_failed = false;  // it diverged
  std::string failure;
  RunSummary summary;  // otherwise
};

// All methods are collective among the ranks of the job.
class CompareRuns {
 public:
  // `job`: what a transport gave to its body. Each rank's copy of all else is the same.
  CompareRuns(Transport& job, const CommandLine& train_line, const Grid& grid, const char* const* environment,
              std::filesystem::path output, std::string budget, bool side_by_side);

  // Checks the options of every run. Throws AgreedError.
  void check();
  // Once rank 0 has made the output: a run's results lie on the host of its first rank, so where not all ranks see what
  // rank 0 has there, all runs are made by the ranks from 0 on, one after another.
  void look_at_output();
  // Runs those that have not been before. A run that diverges is told of, and is no failure; others end all.
  void run(const std::vector<Cell>& cells, std::size_t of_all);
  // The rate of each group whose first run had the best validation accuracy; nullptr where all diverged.
  std::vector<const std::string*> choose_rates();
  // A few steps of the first cell of each group; nothing is written.
  void estimate();

 private:
  using MoreWords = std::function<std::vector<std::string>(const Cell&)>;
  void require_same_runs();
  OptionValues parse(const Cell& cell, const std::vector<std::string>& more) const;
  std::vector<std::string> outputs_of(const Cell& cell) const;
  bool is_first() const { return job_.rank() == 0; }
  std::string from_first(const std::string& text);
  bool was_run(const Cell& cell) const;
  std::vector<std::size_t> left_of(const std::vector<Cell>& cells);
  std::vector<CellOutcome> run_together(const std::vector<Cell>& cells, const MoreWords& more);
  int best_rate(std::size_t group) const;  // its number; -1: all runs diverged
  void tell(const Cell& cell, const CellOutcome& outcome);
  void warn(const std::vector<std::string>& warnings);  // printable lines

  Transport& job_;
  const CommandLine& line_;
  const Grid& grid_;
  const char* const* environment_;
  const std::filesystem::path output_;
  const std::vector<std::string> hosts_;
  const std::string budget_;  // "": none is given
  bool side_by_side_;
  CheckedSamples checked_;  // by the run before
  std::set<std::string> warned_;
  std::size_t told_ = 0, of_all_ = 0;
  double seconds_running_ = 0;
  std::size_t runs_ = 0;
};

}  // namespace eave
