#include "app/run/run_reporter.h"

#include <algorithm>

#include "base/options/number_text.h"
#include "device/fma_peak.h"
#include "eave/agreement.h"
#include "eave/job.h"
#include "nn/graph.h"
#include "report/record/summary.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

std::string describe(const Straggler& slow, const std::string& host) {
  return format(
      "rank %d on %s is slow: it computes %.1f times as long for a step as the others (their median), by step %lld",
      slow.rank, host.c_str(), slow.factor, static_cast<long long>(slow.step));
}

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

// The number of other workers' exchanges between two of the same worker: median and largest.
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
  return count_text(summary.exchanges, "exchange") +
         " of each worker; staleness, exchanges of others between two of a " + "worker: median " +
         std::to_string(median) + ", largest " + std::to_string(largest) + "\n";
}

// The training time in which the run saved its checkpoints: rank 0's since the run began or was resumed.
double seconds_with_checkpoints(const RunSummary& summary, bool is_resumed) {
  if (!is_resumed || summary.times_of_ranks.empty()) return summary.seconds;
  const RankTimes& first = summary.times_of_ranks.front();
  return first.computing + first.loading + first.waiting;
}

std::string describe_checkpoints(const RunSummary& summary, bool is_resumed) {
  if (summary.checkpoints == 0) return "";
  const double whole = seconds_with_checkpoints(summary, is_resumed) + summary.checkpoint_seconds;
  const double percent = 100 * summary.checkpoint_seconds / whole;
  return format("%lld checkpoint%s kept training waiting for %.3g s, %s %% of its time%s\n",
                static_cast<long long>(summary.checkpoints), summary.checkpoints == 1 ? "" : "s",
                summary.checkpoint_seconds, format(percent < 10 ? "%.2g" : "%.0f", percent).c_str(),
                is_resumed ? " since it was resumed" : "");
}

// Combines the costs of ranks: the largest seconds, bytes and memory, the sum of all steps left out, and the mean share
// of waiting over workers.
std::vector<double> costs_of_ranks(Transport& transport, int workers, const TrainingProgress& mine) {
  const bool is_worker = transport.rank() < workers;
  const std::int64_t memory = peak_memory_bytes() - static_cast<std::int64_t>(transport.bytes_of_others());
  const std::vector<double> row = {mine.seconds, static_cast<double>(mine.bytes), static_cast<double>(memory),
                                   static_cast<double>(mine.nonfinite),
                                   is_worker ? mine.waiting / mine.seconds / workers : 0};
  return combine_over_ranks(transport, row, [](const Rows& rows) {
    std::vector<double> all(rows.front().size(), 0.0);
    for (const std::vector<double>& each : rows) {
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = i < 3 ? std::max(all[i], each[i]) : all[i] + each[i];
    }
    return all;
  });
}

}  // namespace

RunReporter::RunReporter(const OptionValues& values, const CommunicatorTraits& traits, int workers, std::int64_t steps,
                         double epochs)
    : progress_(values.text("progress"), started_by_launcher(), steps, epochs),
      has_center_(traits.has_center),
      stragglers_(workers, traits.exchanges_together),
      writes_tensorboard_(values.flag("tensorboard")) {}

void RunReporter::open(const OutputFolder& directory) {
  const Warn warn = [this](const std::string& text) { progress_.warn(text); };
  metrics_.emplace(directory / "metrics.jsonl", warn);
  if (writes_tensorboard_) tensorboard_.emplace(directory, warn);
}

void RunReporter::header(const RunHeader& header) {
  for (const RankFacts& rank : header.ranks) hosts_.push_back(rank.host);
  progress_.count_tokens(header.tokens_per_sample);
  if (tensorboard_) tensorboard_->count_tokens(header.tokens_per_sample);
  if (metrics_) metrics_->write_header(header);
}

TrainingEvents RunReporter::events() {
  TrainingEvents events;
  events.glance = [this](const StepRecord& record) { progress_.show(record); };
  events.evaluation = [this](const EvaluationRecord& record) {
    stragglers_.meet();
    progress_.show(record, has_center_ || record.distance_max > 0);
    if (metrics_) metrics_->write_evaluation(record);
    if (tensorboard_) tensorboard_->write(record);
  };
  events.records = [this](int rank, const std::vector<StepRecord>& records) {
    stragglers_.add(rank, records);
    if (metrics_) metrics_->write_steps(rank, records);
    if (tensorboard_ && rank == 0) tensorboard_->write(records);
  };
  events.straggler = [this](const Straggler& slow) {
    progress_.warn(describe(slow, hosts_.at(static_cast<std::size_t>(slow.rank))));
  };
  if (metrics_) events.flush = [this] { return metrics_->flush(); };
  events.warning = [this](const std::string& warning) { progress_.warn(warning); };
  return events;
}

void RunReporter::warn(const std::string& text) { progress_.warn(text); }

void RunReporter::failure(const Error& error) {
  progress_.finish();
  if (tensorboard_) tensorboard_->finish();
  if (metrics_) metrics_->write_failure(error);
  tell_losses();
}

void RunReporter::end(const RunSummary& summary) {
  progress_.finish();
  if (tensorboard_) tensorboard_->finish();
  tell_losses();
  if (metrics_) metrics_->write_end(summary);
}

void RunReporter::tell_losses() {
  if (metrics_ && metrics_->lost() > 0) {
    progress_.warn("metrics.jsonl lacks " + count_text(metrics_->lost(), "line") + " that could not be written");
  }
  if (tensorboard_ && tensorboard_->lost() > 0) {
    progress_.warn("TensorBoard's file lacks " + count_text(tensorboard_->lost(), "event") +
                   " that could not be written");
  }
}

RunSummary summarise(const OptionValues& values, Transport& transport, int count_of_workers,
                     const TrainingResult& result) {
  RunSummary summary;
  summary.communicator = values.text("communicator");
  summary.model = values.text("model");
  summary.data = values.text("data");
  summary.ranks = transport.size();
  summary.workers = count_of_workers;
  summary.steps = result.progress.steps;
  summary.epochs = result.evaluation.epoch;
  summary.samples = result.progress.samples;
  const std::vector<double> costs = costs_of_ranks(transport, count_of_workers, result.progress);
  summary.seconds = costs[0];
  summary.bytes_per_rank = static_cast<std::int64_t>(costs[1]);
  summary.peak_memory_bytes = static_cast<std::int64_t>(costs[2]);
  summary.nonfinite = static_cast<std::int64_t>(costs[3]);
  summary.waiting_share = std::min(costs[4], 1.0);
  summary.samples_per_second = static_cast<double>(result.progress.samples) / summary.seconds;
  summary.evaluation = result.evaluation;
  summary.checkpoints = result.checkpoints;
  summary.checkpoint_seconds = result.checkpoint_seconds;
  summary.repaired = result.progress.repaired;
  return summary;
}

std::string describe_totals(const RunSummary& summary, bool is_resumed) {
  return detail_lines({summary}) + describe_nonfinite(summary) + describe_rollbacks(summary) +
         describe_staleness(summary) + describe_checkpoints(summary, is_resumed);
}

void add_language_measures(RunSummary& summary, const TrainingParts& parts, const OptionValues& values) {
  const TokenDataset* const text = parts.data.train->tokens();
  if (text == nullptr) return;
  summary.tokens = summary.samples * text->context();
  if (parts.replica.device.kind() != DeviceKind::kCpu) return;
  const Graph graph = build_graph(model_specification(values.text("model")), text->shape(), text->classes());
  const auto cores = static_cast<double>(summary.workers * values.integer("threads", 1));
  summary.flops_per_core = training_flops_per_token(graph) * tokens_per_second(summary) / cores;
  if (const double peak = measure_fma_peak(); peak > 0) summary.share_of_peak = *summary.flops_per_core / peak;
}

}  // namespace eave
