// Compares runs. The result is then written as text, a table or a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/compare/rankings.h"
#include "report/compare/variants.h"
#include "report/read/run_reader.h"

namespace eave {

struct Target {
  double accuracy = 0;  // or the value of the runs' metric
  std::string chosen_by;
};

struct Comparison {
  Metric metric;  // of all runs
  // Tokens of a sample of text, in all runs; 1 if windows differ, then `runs` count tokens. 0 if samples are not text.
  std::int64_t tokens_per_sample = 0;
  std::vector<RunRecord> runs;  // of the same metric as the first one; the others are left out
  std::vector<LeftOut> left_out;
  std::vector<Variant> variants;
  std::vector<std::string> differing;  // names of options
  std::optional<Target> target;
  std::vector<MethodCell> cells;            // most ranks first; every cell has two chosen variants or more
  std::vector<std::string> verdict, notes;  // both: sentences
};

// `target` is a test accuracy, 0-1, or a value of another metric. By default it is the best value that every run
// reached: in whole percent, or rounded to three digits.
// Throws Error(kUsage): an accuracy that is not from 0 to 1, or a perplexity below 1.
Comparison compare_runs(RunList list, std::optional<double> target);

// The cost at which a run reached an accuracy.
struct Reached {
  double seconds = 0, samples = 0;
  double bytes = 0;        // sent by the rank that sent most
  bool is_within = false;  // reached before the first evaluation; the costs are those of that evaluation, so too high
};

// The cost at the first evaluation whose test accuracy, or other metric, is at least as good as `accuracy`. If an
// evaluation came before it, the cost is interpolated linearly between the two. Nothing if the run never reached the
// accuracy.
std::optional<Reached> reach(const RunRecord& run, double accuracy);

// The goodness (report/record/metric.h) of the run's best evaluation; minus infinity if it has none.
double best_score(const RunRecord& run);

// The result in sentences that claim no more than the runs show. They read Comparison::cells: for each cell they say
// which method had the best test accuracy, and which reached the target first. If methods have one run each, one
// evaluation each, or different budgets, no winner is named.
std::vector<std::string> verdict_of(const Comparison& comparison);

// Says how long evaluations of the finished runs took, which their seconds leave out: "Evaluations took 3.1 s besides,
// 11.5 % of the whole time (9.1 to 13.0 % of a run)." "" if there are none, or if it is less than 1 % of the whole.
std::string evaluation_cost(const std::vector<RunRecord>& runs);

// Notes that a reader needs to judge the numbers.
std::vector<std::string> notes_on(const Comparison& comparison);
// Notes on what else differs between compared methods and may explain a result, or the times. Each returns a sentence,
// or
// "" if nothing differs. They need Comparison::cells. Defined in other_differences.cpp.
std::string on_other_settings(const Comparison& comparison);  // of training, besides the methods' names
std::string on_versions(const Comparison& comparison);        // of eave
std::string on_hosts(const Comparison& comparison);

}  // namespace eave
