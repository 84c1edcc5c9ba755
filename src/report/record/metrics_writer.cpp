#include "report/record/metrics_writer.h"

#include <utility>

#include "report/read/step_line.h"
#include "report/record/json.h"
#include "report/record/metric.h"

namespace eave {
namespace {

Json to_json(const RankFacts& facts, std::size_t rank) {
  return {{"rank", rank},
          {"host", facts.host},
          {"device", facts.device},
          {"cores", facts.cores},
          {"class_histogram", facts.class_histogram},
          {"trains", facts.trains}};
}

Json to_json(int rank, const StepRecord& record) {
  Json line = {{"type", "step"},
               {"rank", rank},
               {"step", record.step},
               {"samples", record.samples},
               {"epoch", record.epoch},
               {"loss", loss_to_json(record.loss)},
               {"learning_rate", record.learning_rate},
               {"seconds", record.seconds},
               {"computing", record.computing},
               {"exchanging", record.exchanging},
               {"waiting", record.waiting},
               {"loading", record.loading},
               {"bytes", record.bytes}};
  if (record.gradient_norm && is_recordable(*record.gradient_norm)) line["gradient_norm"] = *record.gradient_norm;
  if (record.nonfinite > 0) line["nonfinite"] = record.nonfinite;
  return line;
}

}  // namespace

MetricsWriter::MetricsWriter(const OutputPath& path, Warn warn) : file_(path, std::move(warn)) {}

void MetricsWriter::write(const std::string& lines, bool are_last) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_failed_, has_failed_ || are_last)) return;
  if (untold_ > 0 && file_.add(to_line({{"type", "lost"}, {"lines", untold_}}) + "\n")) untold_ = 0;
  const std::int64_t lost = file_.add_lines(lines);
  lost_ += lost;
  untold_ += lost;
}

std::int64_t MetricsWriter::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void MetricsWriter::require_written() const {
  const std::lock_guard lock(mutex_);
  if (!file_.problem().empty()) throw Error(ExitCode::kInputOutput, file_.problem());
}

void MetricsWriter::write_header(const RunHeader& header) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < header.ranks.size(); ++rank) ranks.push_back(to_json(header.ranks[rank], rank));
  Json line = {{"type", "header"},
               {"format", is_accuracy(header.metric) ? kFileFormat : kMetricFormat},
               {"version", header.version},
               {"config", header.config},
               {"communicator", header.communicator},
               {"equation", header.equation},
               {"optimizer", header.optimizer},
               {"learning_rate", header.learning_rate},
               {"model", header.model},
               {"parameters", header.parameters},
               {"train_samples", header.train_samples},
               {"test_samples", header.test_samples},
               {"classes", header.classes},
               {"ranks", ranks}};
  if (!is_accuracy(header.metric)) line["metric"] = eave::to_json(header.metric);
  if (header.test_labels > 0) line["test_labels"] = header.test_labels;
  if (header.tokens_per_sample > 0) line["tokens_per_sample"] = header.tokens_per_sample;
  if (!header.class_names.empty()) line["class_names"] = header.class_names;
  if (!header.data_identity.empty()) line["data_identity"] = header.data_identity;
  if (!header.initial_identity.empty()) line["initial_identity"] = header.initial_identity;
  write(to_line(line) + "\n");
  require_written();
}

void MetricsWriter::write_steps(int rank, const std::vector<StepRecord>& records) {
  std::string text;
  for (const StepRecord& record : records) text += to_line(to_json(rank, record)) + "\n";
  write(text);
}

void MetricsWriter::write_evaluation(const EvaluationRecord& record) {
  Json line = {{"type", "evaluation"}};
  line.update(eave::to_json(record));
  write(to_line(line) + "\n");
}

void MetricsWriter::write_end(const RunSummary& summary) {
  Json line = {{"type", "end"}};
  line.update(eave::to_json(summary));
  write(to_line(line) + "\n");
  require_written();
}

void MetricsWriter::write_failure(const Error& error) {
  write(to_line({{"type", "failure"}, {"code", static_cast<int>(error.code())}, {"message", error.what()}}) + "\n",
        true);
}

}  // namespace eave
