#include "app/run_reporter.h"

#include "eave/transport.h"

namespace eave {

RunReporter::RunReporter(const OptionValues& values, const CommunicatorTraits& traits, int workers, std::int64_t steps,
                         double epochs)
    : progress_(values.text("progress"), started_by_launcher(), steps, epochs),
      has_center_(traits.has_center),
      stragglers_(workers, traits.exchanges_together) {}

void RunReporter::open(const std::filesystem::path& directory) { metrics_.emplace(directory / "metrics.jsonl"); }

void RunReporter::header(const RunHeader& header) {
  if (metrics_) metrics_->write_header(header);
}

TrainingEvents RunReporter::events() {
  TrainingEvents events;
  events.glance = [this](const StepRecord& record) { progress_.show(record); };
  events.evaluation = [this](const EvaluationRecord& record) {
    stragglers_.meet();
    progress_.show(record, has_center_);
    if (metrics_) metrics_->write_evaluation(record);
  };
  events.records = [this](int rank, const std::vector<StepRecord>& records) {
    stragglers_.add(rank, records);
    if (metrics_) metrics_->write_steps(rank, records);
  };
  return events;
}

void RunReporter::failure(const Error& error) {
  progress_.finish();
  if (metrics_) metrics_->write_failure(error);
}

void RunReporter::end(const RunSummary& summary) {
  progress_.finish();
  if (metrics_) metrics_->write_end(summary);
}

}  // namespace eave
