#include "report/metrics.h"

#include "eave/check.h"
#include "report/json.h"

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
  return {{"type", "step"},
          {"rank", rank},
          {"step", record.step},
          {"samples", record.samples},
          {"epoch", record.epoch},
          {"loss", record.loss},
          {"learning_rate", record.learning_rate},
          {"seconds", record.seconds},
          {"computing", record.computing},
          {"exchanging", record.exchanging},
          {"waiting", record.waiting},
          {"loading", record.loading},
          {"bytes", record.bytes}};
}

}  // namespace

MetricsWriter::MetricsWriter(const std::filesystem::path& path) : path_(path), file_(path, std::ios::app) {
  if (!file_) throw Error(ExitCode::kCannotCreate, "cannot create " + path.string());
}

void MetricsWriter::write(const std::string& text) {
  file_ << text << std::flush;
  if (!file_) throw Error(ExitCode::kInputOutput, "cannot write " + path_.string() + ": is the disk full?");
}

void MetricsWriter::write_header(const RunHeader& header) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < header.ranks.size(); ++rank) ranks.push_back(to_json(header.ranks[rank], rank));
  const Json line = {{"type", "header"},
                     {"format", 1},
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
  write(to_line(line) + "\n");
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
}

void MetricsWriter::write_failure(const Error& error) {
  write(to_line({{"type", "failure"}, {"code", static_cast<int>(error.code())}, {"message", error.what()}}) + "\n");
}

}  // namespace eave
