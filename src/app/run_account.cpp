#include "app/run_account.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "app/machine.h"
#include "report/terminal.h"

namespace eave {
namespace {

std::string describe_nonfinite(const RunSummary& summary) {
  if (summary.nonfinite == 0) return "";
  return std::to_string(summary.nonfinite) + (summary.nonfinite == 1 ? " step of a rank was" : " steps of ranks were") +
         " left out, in whole or in part: loss or gradient was not finite\n";
}

std::string describe_rollbacks(const RunSummary& summary) {
  if (summary.rollbacks == 0) return "";
  return "went back to a checkpoint " + std::to_string(summary.rollbacks) +
         (summary.rollbacks == 1 ? " time" : " times") + ": loss or gradient was not finite\n";
}

// How many exchanges of others lay between two of a worker: median and largest.
std::string describe_staleness(const RunSummary& summary) {
  std::int64_t all = 0, below = 0, median = -1, largest = 0;
  for (const std::int64_t count : summary.staleness) all += count;
  if (all == 0) return "";
  for (std::size_t k = 0; k < summary.staleness.size(); ++k) {
    if (summary.staleness[k] == 0) continue;
    below += summary.staleness[k];
    if (median < 0 && 2 * below >= all) median = static_cast<std::int64_t>(k);
    largest = static_cast<std::int64_t>(k);
  }
  return std::to_string(summary.exchanges) +
         " exchanges of each worker; staleness, exchanges of others between two of a " + "worker: median " +
         std::to_string(median) + ", largest " + std::to_string(largest) + "\n";
}

std::string describe_checkpoints(const RunSummary& summary) {
  if (summary.checkpoints == 0) return "";
  return format("%lld checkpoint%s kept training waiting for %.3g s, %.2g %% of its time\n",
                static_cast<long long>(summary.checkpoints), summary.checkpoints == 1 ? "" : "s",
                summary.checkpoint_seconds,
                100 * summary.checkpoint_seconds / (summary.seconds + summary.checkpoint_seconds));
}

}  // namespace

RunSummary summarise(const OptionValues& values, Transport& transport, int count_of_workers,
                     const TrainingResult& result) {
  const auto ranks = static_cast<std::size_t>(transport.size()), workers = static_cast<std::size_t>(count_of_workers);
  const auto rank = static_cast<std::size_t>(transport.rank());
  std::vector<double> table(5 * ranks);
  table[5 * rank] = result.progress.seconds;
  table[5 * rank + 1] = result.progress.waiting / result.progress.seconds;
  table[5 * rank + 2] = static_cast<double>(result.progress.bytes);
  table[5 * rank + 3] = static_cast<double>(peak_memory_bytes());
  table[5 * rank + 4] = static_cast<double>(result.progress.nonfinite);
  table = sum_over_ranks(transport, table);
  RunSummary summary;
  summary.communicator = values.text("communicator");
  summary.model = values.text("model");
  summary.data = values.text("data");
  summary.ranks = transport.size();
  summary.workers = count_of_workers;
  summary.steps = result.progress.steps;
  summary.epochs = result.evaluation.epoch;
  summary.samples = result.progress.samples;
  for (std::size_t i = 0; i < ranks; ++i) {
    summary.seconds = std::max(summary.seconds, table[5 * i]);
    if (i < workers) summary.waiting_share += table[5 * i + 1] / static_cast<double>(workers);
    summary.bytes_per_rank = std::max(summary.bytes_per_rank, static_cast<std::int64_t>(table[5 * i + 2]));
    summary.peak_memory_bytes = std::max(summary.peak_memory_bytes, static_cast<std::int64_t>(table[5 * i + 3]));
    summary.nonfinite += static_cast<std::int64_t>(table[5 * i + 4]);
  }
  summary.samples_per_second = static_cast<double>(result.progress.samples) / summary.seconds;
  summary.evaluation = result.evaluation;
  summary.checkpoints = result.checkpoints;
  summary.checkpoint_seconds = result.checkpoint_seconds;
  summary.repaired = result.progress.repaired;
  return summary;
}

std::string describe_account(const RunSummary& summary) {
  return describe_nonfinite(summary) + describe_rollbacks(summary) + describe_staleness(summary) +
         describe_checkpoints(summary);
}

}  // namespace eave
