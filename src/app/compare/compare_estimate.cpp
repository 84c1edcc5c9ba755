// Estimates the cost of a comparison from a few steps of each of its groups.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/compare/compare_runs.h"
#include "app/run/run_length.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "report/record/summary.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr std::int64_t kLeastSteps = 20, kMostSteps = 256;

// Steps for four exchanges of a periodic method, within bounds, and one more step in which the last one begins.
std::int64_t trial_steps(const OptionValues& values) {
  const std::int64_t period = values.entries().contains("tau") && values.has("tau") ? values.integer("tau", 1) : 1;
  return std::clamp(4 * period, kLeastSteps, kMostSteps) + 1;
}

// The cost of one run.
struct Cost {
  double steps = 0, seconds = 0, bytes = 0;
};

// A trial that is shorter than an epoch does not tell how many samples the epoch's last step has.
EpochSteps epoch_of(const OptionValues& values, const RunSummary& trial) {
  const std::int64_t batch = values.integer("batch", 1);
  const std::int64_t of_step = values.text("batch-means") == "total" ? batch : batch * trial.workers;
  const std::int64_t steps = std::llround(static_cast<double>(trial.steps) / trial.epochs);
  if (trial.steps < steps) return {steps * of_step, of_step};
  return {(trial.samples - trial.steps % steps * of_step) / (trial.steps / steps), of_step};
}

Cost cost_of(const OptionValues& values, const RunSummary& trial) {
  const auto of = [&](double whole) { return whole / static_cast<double>(trial.steps); };
  const double step_seconds = of(trial.seconds), step_bytes = of(static_cast<double>(trial.bytes_per_rank));
  const double epoch_steps = static_cast<double>(trial.steps) / trial.epochs;
  double steps = values.real("epochs") * epoch_steps;
  if (values.has("max-steps")) steps = std::min(steps, static_cast<double>(values.integer("max-steps", 1)));
  if (const auto samples = most_samples(values))
    steps = std::min(steps, static_cast<double>(epoch_of(values, trial).steps_for(*samples)));
  if (values.has("stop-after-time")) steps = std::min(steps, values.seconds("stop-after-time") / step_seconds);
  if (values.has("stop-after-bytes") && step_bytes > 0)
    steps = std::min(steps, static_cast<double>(values.bytes("stop-after-bytes")) / step_bytes);
  const double between = values.real("evaluate-every") * epoch_steps;
  const double evaluations = values.has("evaluations") ? static_cast<double>(values.integer("evaluations", 1))
                             : between > 0             ? 1 + std::floor(steps / between)
                                                       : 1;
  return {steps, steps * step_seconds + evaluations * trial.evaluation.evaluation_seconds, steps * step_bytes};
}

std::size_t longest_label(const Grid& grid) {
  std::size_t width = 0;
  for (const RunGroup& group : grid.groups) width = std::max(width, count_characters(printable(group.label())));
  return width;
}

}  // namespace

void CompareRuns::estimate() {
  double seconds = 0, bytes = 0;
  const std::size_t width = longest_label(grid_);
  if (is_first()) {
    std::printf("%-*s  %4s  %9s  %9s  %15s\n", static_cast<int>(width), "runs of", "runs", "steps", "time each",
                "bytes per rank");
  }
  for (std::size_t number = 0; number < grid_.groups.size(); ++number) {
    const RunGroup& group = grid_.groups[number];
    const Cell cell = grid_.cell(number, group.rates.front(), 1);
    const OptionValues values = parse(cell, outputs_of(cell));
    const CellOutcome trial = run_together({cell}, trial_steps(values)).front();
    const double runs = static_cast<double>(group.rates.size()) + grid_.seeds - 1;
    const std::string label = padded(group.label(), width);
    if (trial.has_failed) {
      if (is_first()) std::printf("%s  %4.0f  diverges at once\n", printable(label).c_str(), runs);
      continue;
    }
    const Cost cost = cost_of(values, trial.summary);
    seconds += runs * cost.seconds;
    bytes += runs * cost.bytes;
    if (!is_first()) continue;
    std::printf("%s  %4.0f  %9.0f  %9s  %15s\n", printable(label).c_str(), runs, cost.steps,
                clock_text(cost.seconds).c_str(), human_bytes(cost.bytes).c_str());
    std::fflush(stdout);
  }
  if (!is_first()) return;
  std::printf("%s, about %s, in which a rank sends %s\n",
              count_text(static_cast<std::int64_t>(grid_.count()), "run").c_str(), clock_text(seconds).c_str(),
              human_bytes(bytes).c_str());
}

}  // namespace eave
