#include "test/report/made_runs.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "report/record/metric.h"
#include "report/record/metrics_writer.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

RunHeader header_of(const MadeRun& run) {
  RunHeader header;
  header.config = {{"communicator", run.communicator}, {"batch", "10"}, {"lr", "0.1"},   {"data", "digits"},
                   {"batch-means", "per-rank"},        {"epochs", "1"}, {"model", "mlp"}};
  for (const auto& [name, text] : run.settings) header.config[name] = text;
  header.config["seed"] = std::to_string(run.seed);
  header.metric = run.metric;
  header.communicator = run.communicator;
  header.model = header.config.at("model");
  header.train_samples = run.samples;
  header.test_samples = 100;
  header.tokens_per_sample = run.tokens_per_sample;
  header.test_labels = header.test_samples * run.tokens_per_sample;
  header.classes = 10;
  header.data_identity = run.data_identity;
  header.initial_identity = run.initial_identity;
  header.ranks.resize(static_cast<std::size_t>(run.ranks));
  for (RankFacts& rank : header.ranks) rank.device = "cpu";
  return header;
}

// Returns the number of steps from one evaluation to the next.
std::int64_t steps_of_evaluation(const MadeRun& run) {
  const double samples = static_cast<double>(run.samples) * run.epochs / static_cast<double>(run.accuracies.size());
  const auto batch = run.settings.find("batch");
  const bool is_total = run.settings.contains("batch-means") && run.settings.at("batch-means") == "total";
  const double of_step = (batch == run.settings.end() ? 10 : std::stod(batch->second)) * (is_total ? 1 : run.ranks);
  return std::max<std::int64_t>(1, std::llround(std::ceil(samples / of_step)));
}

EvaluationRecord evaluation_of(const MadeRun& run, std::size_t i) {
  const double part = static_cast<double>(i + 1) / static_cast<double>(run.accuracies.size());
  EvaluationRecord record;
  record.metric = run.metric;
  record.step = run.first_step + static_cast<std::int64_t>(i + 1) * steps_of_evaluation(run);
  record.samples = static_cast<std::int64_t>(part * run.epochs * static_cast<double>(run.samples));
  record.epoch = static_cast<double>(record.samples) / static_cast<double>(run.samples);
  record.seconds = part * run.seconds;
  record.evaluation_seconds = run.evaluation_seconds;
  record.center = {run.knows_loss ? 1 - run.accuracies[i] : std::nan(""), run.accuracies[i]};
  if (is_accuracy(run.metric)) record.workers = WorkerScores{record.center, record.center, record.center};
  if (run.tokens_per_sample > 0) {
    record.bits_per_byte = 2.5;
    record.ema = ModelScore{3.5, record.center.accuracy};
  }
  if (!run.validation.empty()) record.validation = ModelScore{1 - run.validation[i], run.validation[i]};
  if (!run.averages.empty()) record.ema = ModelScore{1 - run.averages[i], run.averages[i]};
  return record;
}

StepRecord step_of(const MadeRun& run, const EvaluationRecord& evaluation) {
  const auto steps = static_cast<double>(run.accuracies.size());
  StepRecord record;
  record.step = evaluation.step;
  record.samples = evaluation.samples;
  record.epoch = evaluation.epoch;
  record.loss = evaluation.center.loss;
  record.seconds = evaluation.seconds;
  record.computing = run.seconds / steps / 2;
  record.waiting = run.seconds / steps / 4;
  record.bytes = run.bytes / static_cast<std::int64_t>(run.accuracies.size());
  if (run.tokens_per_sample > 0) record.gradient_norm = 1.25;
  return record;
}

RunSummary summary_of_made(const MadeRun& run, const EvaluationRecord& last) {
  RunSummary summary;
  summary.communicator = run.communicator;
  const RunHeader header = header_of(run);
  summary.model = header.model;
  summary.data = header.config.at("data");
  summary.ranks = summary.workers = run.ranks;
  summary.steps = last.step;
  summary.epochs = last.epoch;
  summary.samples = last.samples;
  summary.tokens = last.samples * run.tokens_per_sample;
  summary.seconds = run.seconds;
  summary.samples_per_second = static_cast<double>(last.samples) / run.seconds;
  summary.bytes_per_rank = run.bytes;
  summary.evaluation = last;
  return summary;
}

}  // namespace

void MadeRuns::write(const std::string& file, const std::string& content) const {
  fs::create_directories((path() / file).parent_path());
  std::ofstream(path() / file, std::ios::binary) << content;
}

std::string MadeRuns::read(const std::string& file) const {
  std::ifstream stream(path() / file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void make_run(const MadeRuns& place, const std::string& name, const MadeRun& run) {
  fs::create_directories(place.path() / name);
  MetricsWriter writer(place.path() / name / "metrics.jsonl");
  writer.write_header(header_of(run));
  EvaluationRecord evaluation;
  for (std::size_t i = 0; i < run.accuracies.size(); ++i) {
    evaluation = evaluation_of(run, i);
    for (int rank = 0; rank < run.ranks; ++rank) writer.write_steps(rank, {step_of(run, evaluation)});
    writer.write_evaluation(evaluation);
  }
  if (run.finishes) writer.write_end(summary_of_made(run, evaluation));
}

void make_seeds(const MadeRuns& place, const std::string& name, MadeRun run, int count, double step) {
  const int first = run.seed;
  for (; run.seed < first + count; ++run.seed) {
    make_run(place, name + "-seed" + std::to_string(run.seed), run);
    for (double& accuracy : run.accuracies) accuracy += step;
    for (double& accuracy : run.validation) accuracy += step;
  }
}

RunList read_made(const MadeRuns& place) { return read_runs({place.path()}); }

}  // namespace eave
