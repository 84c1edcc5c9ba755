// The options of `eave compare`, and the grid of runs that they describe.
#pragma once

#include <string>
#include <vector>

#include "app/compare/compare_grid.h"
#include "eave/options.h"

namespace eave {

std::vector<OptionSpec> compare_options();

// The words of compare's own options, and all other words, which are options of train.
struct ComparedWords {
  std::vector<std::string> own;
  Settings of_train;
};
ComparedWords part_words(const std::vector<std::string>& words);

// Makes the grid for a job of `ranks_of_job` ranks. Every comparison contains one rank alone, and `allreduce`. Throws
// Error(kUsage).
Grid read_grid(const OptionValues& own, const Settings& of_train, int ranks_of_job);
// --budget without blanks, "time=60s"; "" if it is not given. Throws Error(kUsage).
std::string budget_of(const OptionValues& own);
// If --budget is given, no other option may end a run, wherever that option comes from. Throws Error(kUsage).
void require_budget_alone(const std::string& budget, const OptionValues& of_run);
// The largest number in --ranks; 0 if it is not given.
int most_ranks(const OptionValues& own);

}  // namespace eave
