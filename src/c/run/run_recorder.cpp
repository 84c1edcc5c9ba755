#include "c/run/run_recorder.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/host.h"
#include "base/options/number_text.h"
#include "c/run/going_on.h"
#include "c/stderr_message.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "report/record/config.h"
#include "report/record/metric.h"
#include "report/record/run_directory.h"
#include "report/record/summary.h"

namespace eave {
namespace {

constexpr std::chrono::seconds kUntold{1};

std::string text_of_rank(const std::string& device) { return host_name() + "\n" + device + "\n" + core_binding(); }

RankFacts facts_from(const std::string& text) {
  const std::size_t device = text.find('\n'), cores = text.find('\n', device + 1);
  return {text.substr(0, device), text.substr(device + 1, cores - device - 1), text.substr(cores + 1), {}};
}

// The description without its warnings.
std::string equation_in(const std::string& description) {
  return description.substr(0, description.find("\nwarning: "));
}

// `whose`: the end of the name of the score.
void require_score(const Metric& metric, const char* what, const char* whose, double value) {
  if (!is_recordable(value)) {
    const std::string why = std::isfinite(value)
                                ? shortest_text(value) + ", and a run records at most " + number_text(kMostReal)
                                : "not finite";
    throw Error(ExitCode::kDiverged, "training diverged: the " + std::string(what) + metric.name + whose + " is " +
                                         why + "; try a smaller learning rate, or warm-up");
  }
  if (is_accuracy(metric) && !(value >= 0 && value <= 1))
    throw Error(ExitCode::kUsage, "evaluate: " + std::string(what) + "accuracy is " + shortest_text(value) +
                                      "; expected a share from 0 to 1");
}

// A mean of shares may lie beyond 0 or 1 by its rounding, and perhaps is known only after days of training. Readers
// allow as much (src/report/FORMATS.md).
double without_rounding(const Metric& metric, double value) {
  constexpr double kRoundingOfShares = 1e-6;
  const double share = std::clamp(value, 0.0, 1.0);
  return is_accuracy(metric) && std::abs(value - share) <= kRoundingOfShares ? share : value;
}

ModelScores without_rounding(const Metric& metric, ModelScores scores) {
  scores.test.accuracy = without_rounding(metric, scores.test.accuracy);
  for (std::optional<ModelScore>* each : {&scores.validation, &scores.mean, &scores.own})
    if (*each) (*each)->accuracy = without_rounding(metric, (*each)->accuracy);
  return scores;
}

}  // namespace

struct RunRecorder::Files {
  // The directory exists. The lock comes first: nobody else may write there meanwhile.
  Files(const OutputFolder& run, const Averager& averager)
      : folder(run),
        lock(run, kRunLock, "--run-dir " + run.path().string(), DirectoryLock::kPatience, warn),
        stragglers(averager.ranks(), averager.traits().exchanges_together) {}

  OutputFolder folder;
  DirectoryLock lock;
  std::optional<MetricsWriter> metrics;
  Stragglers stragglers;
  std::chrono::steady_clock::time_point written = std::chrono::steady_clock::now();  // rank 0's own records
};

RunRecorder::RunRecorder(Transport& transport, Averager& averager, const std::string& directory,
                         const std::string& settings)
    : averager_(&averager) {
  require_same(transport, settings);
  agree(transport, [&] {
    if (averager.is_observed())
      throw Error(ExitCode::kUsage, "another run records this averager; close that one first");
    settings_ = parse_run_settings(settings, averager.given_settings(), averager.default_settings());
  });
  TrainingProgress progress = goes_on() ? averager.former()->progress : TrainingProgress();
  ObservedSteps observed = goes_on() ? averager.former()->observed.value_or(ObservedSteps()) : ObservedSteps();
  const std::int64_t last = std::max(averager.steps(), observed.number);
  const std::vector<std::string> steps = transport.gather(std::to_string(last));
  KeptRecord kept;
  let_first_judge(transport, [&] {
    std::vector<std::int64_t> numbers;
    for (const std::string& each : steps) numbers.push_back(std::stoll(each));
    kept = begin_files(OutputFolder(directory), numbers);
  });
  evaluation_ = kept.evaluation;
  const FoundRecord found = share(transport, kept);
  is_evaluated_ = found.evaluated.has_value();
  write_header(transport);
  count_lines_after_save(found, transport.rank(), progress, observed);
  if (evaluation_) progress.seconds = std::max(progress.seconds, evaluation_->seconds);  // it came after the save
  repaired_before_ = progress.repaired - averager.repaired();
  records_.emplace(averager, settings_, progress, observed);
  if (is_evaluated_ && !averager.needs_equal_steps())  // steps come after the evaluation of all ranks
    records_->go_on_from(std::max(records_->steps(), *found.evaluated), records_->samples());
  averager.observe(this);
}

// Whether the averager goes on from steps that a run has recorded.
bool RunRecorder::goes_on() const {
  return settings_.resume && averager_->former() && averager_->former()->progress.samples > 0;
}

RunRecorder::~RunRecorder() {
  if (averager_ && averager_->is_observed_by(this)) averager_->observe(nullptr);
}

// Rank 0 calls it. `steps`: of all ranks. A run that was killed before its first checkpoint begins anew.
KeptRecord RunRecorder::begin_files(const OutputFolder& folder, const std::vector<std::int64_t>& steps) {
  refuse_loss(folder, settings_, *averager_);
  const bool is_cut_short = settings_.resume && state_of_run(folder.path()) == RunState::kBegun;
  const bool is_reopened = goes_on() && holds_run(folder.path()) && !holds_bare_run(folder);
  create_run_directory(folder, settings_.overwrite);
  files_ = std::make_unique<Files>(folder, *averager_);
  KeptRecord kept;
  if (is_reopened) {
    settings_.config = config_to_go_on(folder, settings_);
    const std::int64_t samples = averager_->former()->progress.samples;
    kept = reopen_run_directory(folder, {.samples = samples, .metric = settings_.metric, .steps = steps});
    settings_.config["resume"] = kept.ranks == averager_->ranks() ? "auto" : "elastic";
  } else {
    prepare_run_directory(folder, settings_.overwrite || is_cut_short);
  }
  files_->metrics.emplace(folder / "metrics.jsonl", warn);
  write_config(folder / "config.json", settings_.config);
  return kept;
}

ObservedSteps RunRecorder::before_save(Transport& transport, TrainingProgress& progress) {
  const std::vector<RankReport> reports = gather(transport);
  if (files_) {
    if (const std::string failure = files_->metrics->flush(); !failure.empty()) warn(failure);
  }
  RankTotals all(reports);
  all.share(transport);
  if (all.own_samples > 0) records_->go_on_from(all.steps, all.samples);
  progress.samples = all.samples;
  progress.repaired = repaired();
  records_->save_to(progress);
  return records_->observed();
}

void RunRecorder::write_header(Transport& transport) {
  const std::vector<std::string> ranks = transport.gather(text_of_rank(averager_->device_name()));
  let_first_judge(transport, [&] {
    RunHeader header;
    header.version = EAVE_VERSION;
    header.metric = settings_.metric;
    header.config = settings_.config;
    header.communicator = setting_in(settings_.config, "communicator");
    header.equation = equation_in(averager_->description());
    header.optimizer = settings_.optimizer;
    header.learning_rate = settings_.learning_rate;
    header.model = settings_.model;
    header.parameters = static_cast<std::int64_t>(averager_->size());
    header.train_samples = settings_.train_samples;
    header.test_samples = settings_.test_samples;
    for (const std::string& rank : ranks) header.ranks.push_back(facts_from(rank));
    files_->metrics->write_header(header);
  });
}

// Epochs and samples per second would be wrong by a factor that nobody sees.
void RunRecorder::warn_of_guessed_samples() {
  if (!files_ || settings_.train_samples == 0 || std::exchange(has_warned_, true)) return;
  warn(
      "this run has no batch, so each step counts as one sample of each rank, and its epochs and samples per second "
      "are too small; open it with batch, the samples of a rank in a step");
}

void RunRecorder::before_step(const Step& step, CountedSamples counted) {
  records_->before_step(step, counted);
  if (counted == CountedSamples::kEven && settings_.batch == 0) warn_of_guessed_samples();
  distance_.reset();
  is_evaluated_ = false;
  if (!files_ || std::chrono::steady_clock::now() - files_->written < kUntold) return;
  files_->written = std::chrono::steady_clock::now();
  const std::vector<StepRecord> mine = records_->take();
  files_->stragglers.add(0, mine);
  files_->metrics->write_steps(0, mine);
}

void RunRecorder::after_step(const Step& step, bool is_left_out) { records_->after_step(step, is_left_out); }

void RunRecorder::require_averager() const {
  if (!averager_)
    throw Error(ExitCode::kUsage, "the averager of this run is closed: close the run before its averager");
}

RankReport RunRecorder::report() const {
  return {.distance = distance_.value_or(0),
          .seconds = records_->seconds(),
          .waiting = records_->waiting(),
          .steps = records_->steps(),
          .samples = records_->samples(),
          .own_samples = records_->own_samples(),
          .bytes = records_->bytes(),
          .nonfinite = records_->nonfinite(),
          .memory = peak_memory_bytes(),
          .own = {}};
}

double RunRecorder::epochs_of(std::int64_t samples) const {
  const auto size = static_cast<double>(settings_.train_samples);
  return size > 0 ? static_cast<double>(samples) / size : 0;
}

// On rank 0: writes the records of all ranks, and returns their reports.
std::vector<RankReport> RunRecorder::gather(Transport& transport, const std::optional<ModelScore>& own) {
  RankReport mine = report();
  if (own) mine.own = *own;
  const std::vector<std::string> all = transport.gather(pack(mine, records_->take()));
  std::vector<RankReport> reports;
  if (!files_) return reports;
  for (const std::string& each : all) reports.push_back(report_in(each));
  const RankTotals totals(reports);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::vector<StepRecord> told = records_in(all[rank]);
    for (StepRecord& record : told) complete(record, totals);
    files_->stragglers.add(static_cast<int>(rank), told);
    files_->metrics->write_steps(static_cast<int>(rank), told);
  }
  return reports;
}

// In the last step the samples of all ranks are known, and readers compare them with the evaluation's.
void RunRecorder::complete(StepRecord& record, const RankTotals& all) const {
  if (all.own_samples == 0 || record.step != all.steps) return;
  record.samples = all.samples;
  record.epoch = epochs_of(all.samples);
}

WorkerScores RunRecorder::scores_of_workers(const ModelScore& mean, const std::vector<RankReport>& reports) const {
  const Metric& metric = settings_.metric;
  const auto best = std::ranges::max_element(
      reports, {}, [&](const RankReport& each) { return goodness(metric, each.own.accuracy); });
  return {mean, reports.front().own, best->own, static_cast<int>(best - reports.begin())};
}

EvaluationRecord RunRecorder::record_of(const ModelScores& scores, const std::vector<RankReport>& reports) const {
  EvaluationRecord record;
  record.metric = settings_.metric;
  record.center = scores.test;
  record.validation = scores.validation;
  if (scores.mean) record.workers = scores_of_workers(*scores.mean, reports);
  record.seconds = records_->seconds();
  record.evaluation_seconds = records_->seconds_evaluating();
  record.distance_min = record.distance_max = reports.front().distance;
  const RankTotals all(reports);
  record.step = all.steps;
  record.samples = all.samples;
  record.epoch = epochs_of(all.samples);
  for (const RankReport& each : reports) {
    record.distance_min = std::min(record.distance_min, each.distance);
    record.distance_max = std::max(record.distance_max, each.distance);
    record.distance_mean += each.distance / static_cast<double>(reports.size());
  }
  return record;
}

void RunRecorder::require_scores(const ModelScores& scores, int rank) const {
  const std::string own = " of rank " + std::to_string(rank);
  if (scores.own) require_score(settings_.metric, "test ", own.c_str(), scores.own->accuracy);
  if (rank != 0) return;
  require_score(settings_.metric, "test ", " of the consensus", scores.test.accuracy);
  if (scores.validation)
    require_score(settings_.metric, "validation ", " of the consensus", scores.validation->accuracy);
  if (scores.mean) require_score(settings_.metric, "test ", " of the mean of the workers", scores.mean->accuracy);
}

void RunRecorder::evaluate(Transport& transport, const ModelScores& told) {
  const ModelScores scores = without_rounding(settings_.metric, told);
  agree(transport, [&] {
    require_averager();
    if (!distance_)
      throw Error(ExitCode::kUsage,
                  "evaluate: no consensus has been written since the last step, and only that is "
                  "evaluated; call consensus first");
    require_scores(scores, transport.rank());
  });
  records_->record_rest();
  const std::vector<RankReport> reports = gather(transport, scores.own);
  is_evaluated_ = true;
  if (!averager_->needs_equal_steps()) {
    RankTotals all(reports);
    all.share(transport);
    records_->go_on_from(all.steps, all.samples);
  }
  if (!files_) return;
  files_->stragglers.meet();
  evaluation_ = record_of(scores, reports);
  files_->metrics->write_evaluation(*evaluation_);
}

RunSummary RunRecorder::summary_of(const std::vector<RankReport>& reports) const {
  RunSummary summary;
  summary.communicator = setting_in(settings_.config, "communicator");
  summary.model = settings_.model;
  summary.data = settings_.data;
  summary.ranks = summary.workers = averager_->ranks();
  summary.evaluation = *evaluation_;
  summary.steps = evaluation_->step;
  summary.epochs = evaluation_->epoch;
  summary.samples = evaluation_->samples;
  for (const RankReport& each : reports) {
    summary.seconds = std::max(summary.seconds, each.seconds);
    summary.bytes_per_rank = std::max(summary.bytes_per_rank, each.bytes);
    summary.peak_memory_bytes = std::max(summary.peak_memory_bytes, each.memory);
    summary.nonfinite += each.nonfinite;
    if (each.seconds > 0) summary.waiting_share += each.waiting / each.seconds / static_cast<double>(reports.size());
  }
  summary.waiting_share = std::min(summary.waiting_share, 1.0);
  if (summary.seconds > 0) summary.samples_per_second = static_cast<double>(summary.samples) / summary.seconds;
  summary.times_of_ranks = files_->stragglers.times();
  summary.checkpoints = records_->checkpoints();
  summary.checkpoint_seconds = records_->checkpoint_seconds();
  summary.repaired = repaired();
  const ExchangeReport exchanges = averager_->exchanges();
  summary.exchanges = exchanges.exchanges;
  summary.staleness = exchanges.staleness;
  while (!summary.staleness.empty() && summary.staleness.back() == 0) summary.staleness.pop_back();
  return summary;
}

void RunRecorder::close(Transport& transport) {
  agree(transport, [&] {
    require_averager();
    if (is_evaluated_) return;
    throw Error(ExitCode::kUsage, "the run has no evaluation after its last step, " +
                                      std::to_string(records_->steps()) +
                                      ": evaluate the consensus once more before the run is closed");
  });
  const std::vector<RankReport> reports = gather(transport);
  let_first_judge(transport, [&] {
    const RunSummary summary = summary_of(reports);
    if (files_->metrics->lost() > 0)
      warn("metrics.jsonl lacks " + count_text(files_->metrics->lost(), "line") + " that could not be written");
    files_->metrics->write_end(summary);
    write_summary(files_->folder / "summary.json", summary);
  });
  drop_files();
}

void RunRecorder::fail(const Error& error) {
  if (!files_) return;
  if (averager_) records_->record_rest();
  files_->metrics->write_steps(0, records_->take());
  if (error.code() != ExitCode::kLeftOnRequest) files_->metrics->write_failure(error);
  drop_files();
}

void RunRecorder::fail_elsewhere(const Error& error) {
  const std::lock_guard lock(files_mutex_);
  if (files_) files_->metrics->write_failure(error);
}

void RunRecorder::drop_files() {
  const std::lock_guard lock(files_mutex_);
  files_.reset();
}

}  // namespace eave
