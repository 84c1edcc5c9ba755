#include "app/run/run_reporter.h"

#include <string>

#include "base/options/number_text.h"
#include "eave/transport.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

std::string describe(const Straggler& slow, const std::string& host) {
  return format(
      "rank %d on %s is slow: it computes %.1f times as long for a step as the others (their median), by step %lld",
      slow.rank, host.c_str(), slow.factor, static_cast<long long>(slow.step));
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
  if (metrics_) metrics_->write_header(header);
}

TrainingEvents RunReporter::events() {
  TrainingEvents events;
  events.glance = [this](const StepRecord& record) { progress_.show(record); };
  events.evaluation = [this](const EvaluationRecord& record) {
    stragglers_.meet();
    progress_.show(record, has_center_);
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

}  // namespace eave
