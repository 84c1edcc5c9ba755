// The result of a comparison, before it is written as text, a table or a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/compare/variants.h"
#include "report/read/run_list.h"

namespace eave {

struct Target {
  double accuracy = 0;
  std::string chosen_by;
};

struct Comparison {
  std::vector<RunRecord> runs;
  std::vector<LeftOut> left_out;
  std::vector<Variant> variants;
  std::vector<std::string> differing;  // names of options
  std::optional<Target> target;
  std::vector<std::string> verdict, notes;  // both: sentences
};

// `target` is a test accuracy, 0-1. By default it is the highest whole percent that every run reached.
Comparison compare_runs(RunList list, std::optional<double> target);

}  // namespace eave
