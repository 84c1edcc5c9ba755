#include "app/compare/compare_progress.h"

#include <algorithm>
#include <cstdio>

#include "base/options/number_text.h"
#include "base/printable.h"
#include "report/record/metric.h"
#include "report/text/terminal.h"

namespace eave {

namespace {

// The longest label of a run.
std::size_t width_of_labels(const Grid& grid) {
  std::size_t width = 0;
  for (std::size_t group = 0; group < grid.groups.size(); ++group) {
    for (const std::string& rate : grid.groups[group].rates)
      width = std::max(width, count_characters(printable(grid.cell(group, rate, grid.seeds).label)));
  }
  return width;
}

}  // namespace

void CompareProgress::begin(std::size_t of_all, std::size_t kept, std::size_t runs) {
  of_all_ = of_all;
  width_ = width_of_labels(grid_);
  told_ += kept;
  if (!is_shown_ || kept == 0) return;
  std::printf("%zu of %s %s\n", kept, count_text(static_cast<std::int64_t>(runs), "run").c_str(),
              runs == 1 ? "was done before and is kept" : "were done before and are kept");
  std::fflush(stdout);
}

void CompareProgress::add_time(double seconds, std::size_t runs) {
  seconds_ += seconds;
  timed_ += runs;
}

void CompareProgress::tell(const Cell& cell, const CellOutcome& outcome) {
  ++told_;
  if (!is_shown_) return;
  const EvaluationRecord& last = outcome.summary.evaluation;
  const std::string what = outcome.has_failed
                               ? "diverged"
                               : format("%8s in %s", score_text(last.metric, last.center.accuracy).c_str(),
                                        clock_text(outcome.summary.seconds).c_str());
  const double left = seconds_ / static_cast<double>(timed_) * static_cast<double>(of_all_ - told_);
  std::printf("%3zu of %zu  %s  %s%s\n", told_, of_all_, printable(padded(cell.label, width_)).c_str(), what.c_str(),
              told_ < of_all_ ? ("; about " + clock_text(left) + " to go").c_str() : "");
  std::fflush(stdout);
}

}  // namespace eave
