// Everything that a report says, before it becomes text, a table or a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/run_list.h"
#include "report/variants.h"

namespace eave {

struct Target {
  double accuracy = 0;
  std::string chosen_by;
};

struct Comparison {
  std::vector<RunRecord> runs;
  std::vector<LeftOut> left_out;
  std::vector<Variant> variants;
  std::vector<std::string> differing;  // options
  std::optional<Target> target;
  std::vector<std::string> verdict, notes;  // sentences
};

// `target`: test accuracy, 0-1; without it the highest in whole percent that every run reached.
Comparison compare_runs(RunList list, std::optional<double> target);

}  // namespace eave
