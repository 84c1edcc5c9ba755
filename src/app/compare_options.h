// The options of eave compare, and the grid of runs that they describe.
#pragma once

#include <string>
#include <vector>

#include "app/compare_grid.h"
#include "eave/options.h"

namespace eave {

std::vector<OptionSpec> compare_options();

// The words of compare's own options, and the others, which are train's.
struct ComparedWords {
  std::vector<std::string> own;
  Settings of_train;
};
ComparedWords part_words(const std::vector<std::string>& words);

// In a job of so many ranks. One rank by itself and `allreduce` belong to every comparison. Throws Error(kUsage).
Grid read_grid(const OptionValues& own, const Settings& of_train, int ranks_of_job);
// --budget without blanks, "time=60s"; "" when it is not given. Throws Error(kUsage).
std::string budget_of(const OptionValues& own);
// If --budget is given, a run ends by it alone, wherever its other options come from. Throws Error(kUsage).
void require_budget_alone(const std::string& budget, const OptionValues& of_run);
// The largest number of --ranks; 0: not given.
int most_ranks(const OptionValues& own);

}  // namespace eave
