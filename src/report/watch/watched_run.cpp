#include "report/watch/watched_run.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/formats/strict_json.h"
#include "base/options/quantities.h"
#include "eave/check.h"
#include "report/read/line_reader.h"
#include "report/record/config.h"
#include "report/record/json.h"
#include "report/record/json_fields.h"
#include "report/record/metric.h"
#include "report/text/progress.h"

namespace eave {
namespace {

constexpr double kRecentSeconds = 10;

// Converts to an integer. In a damaged file the value may be NaN, or too large.
std::int64_t count_of(double value) { return value >= 0 && value < 9e18 ? static_cast<std::int64_t>(value) : 0; }

StepRecord record_of(const StepLine& line) {
  StepRecord record;
  record.step = count_of(line[StepLine::kStep]);
  record.samples = count_of(line[StepLine::kSamples]);
  record.epoch = line[StepLine::kEpoch];
  record.loss = line[StepLine::kLoss];
  record.learning_rate = line[StepLine::kRate];
  record.seconds = line[StepLine::kSeconds];
  record.computing = line[StepLine::kComputing];
  record.exchanging = line[StepLine::kExchanging];
  record.waiting = line[StepLine::kWaiting];
  record.loading = line[StepLine::kLoading];
  return record;
}

}  // namespace

void WatchedRun::take(const std::string& line) {
  if (has_unknown_format_) return;
  try {
    take_line(line);
  } catch (const UnknownFormat& error) {
    has_unknown_format_ = true;
    failure_ = {static_cast<int>(ExitCode::kBadData),
                "metrics.jsonl line " + std::to_string(lines_.number()) + ": " + error.what()};
  } catch (const Json::exception& error) {
    note(line, why_unreadable(error));
  }
}

void WatchedRun::take_line(const std::string& line) {
  if (line == LineTail::kTooLong) {
    lines_.pass_over();
    throw AmbiguousJson("it is longer than 64 MiB");
  }
  std::visit([this](const auto& each) { take(each); }, lines_.take(line));
}

// If the damaged line is an "end" line, the run has ended all the same.
void WatchedRun::note(const std::string& line, const std::string& why) {
  const std::string what = "line " + std::to_string(lines_.number()) + ": " + why;
  if (++damaged_ == 1) first_damage_ = what;
  const Json object = parse_json_or_discard(line);
  if (!object.is_object() || !object.contains("type") || object.at("type") != "end") return;
  const std::string read = ranks_ == 0 ? "its metrics.jsonl cannot be read, " + first_damage_
                                       : "the end of its metrics.jsonl is damaged, " + what;
  failure_ = {static_cast<int>(ExitCode::kBadData), read + kPutBack};
}

void WatchedRun::take(const HeaderLine& header) {
  config_ = header.config;
  if (budget_without_epochs(config_)) config_.erase("epochs");
  communicator_ = header.communicator;
  metric_ = header.metric;
  tokens_per_sample_ = header.tokens_per_sample;
  model_ = header.model;
  ranks_ = static_cast<int>(header.ranks.size());
  end_.reset();
  failure_.reset();
  first_evaluation_ = evaluations_.size();
  earlier_ = recent_.size();
  ++headers_;
}

std::string WatchedRun::damage() const {
  if (damaged_ == 0) return "";
  return (damaged_ == 1 ? "1 damaged line of metrics.jsonl is"
                        : std::to_string(damaged_) + " damaged lines of metrics.jsonl are") +
         " left out; " + (damaged_ == 1 ? "" : "the first, ") + first_damage_ + kPutBack;
}

std::string WatchedRun::gaps() const {
  const std::string damage = this->damage();
  if (lost_ == 0) return damage;
  return (damage.empty() ? "" : damage + "; ") + lost_lines_text(lost_);
}

void WatchedRun::take(const RunSummary& end) {
  end_ = end;
  last_.step = end.steps;
  last_.samples = end.samples;
  last_.epoch = end.epochs;
  last_.seconds = end.seconds;
}

// Only rank 0's lines count: those of other ranks are written late.
void WatchedRun::take(const StepLine& line) {
  if (line[StepLine::kRank] != 0) return;
  const StepRecord record = record_of(line);
  last_ = record;
  bytes_ += line[StepLine::kBytes];
  losses_.add({record.seconds, static_cast<double>(record.step), record.epoch, 0, record.loss});
  if (recent_.empty()) recent_.emplace_back();
  recent_.push_back(record);
  while (recent_.size() > 2 && recent_[1].seconds <= record.seconds - kRecentSeconds) {
    recent_.pop_front();
    if (earlier_ > 0) --earlier_;
  }
}

// Ranks of a program that take steps independently count only their own samples until an evaluation, which counts those
// of all. The rate follows a batch that grows one evaluation late.
// A resumed run may have another number of ranks. Then neither earlier evaluations nor earlier steps tell its rate.
std::optional<double> WatchedRun::evaluated_samples_of_step() const {
  if (!config_.contains("program") || evaluations_.size() == first_evaluation_ || earlier_ > 0) return std::nullopt;
  const EvaluationRecord& last = evaluations_.back();
  const auto is_earlier = [&](const EvaluationRecord& each) { return each.step < last.step; };
  const auto end = evaluations_.rend() - static_cast<std::ptrdiff_t>(first_evaluation_);
  const auto before = std::find_if(evaluations_.rbegin(), end, is_earlier);
  if (before == end && was_resumed()) return std::nullopt;
  const EvaluationRecord first = before == end ? EvaluationRecord() : *before;
  if (last.step <= first.step || last.samples <= first.samples) return std::nullopt;
  return static_cast<double>(last.samples - first.samples) / static_cast<double>(last.step - first.step);
}

RecentSteps WatchedRun::recent() const {
  RecentSteps recent;
  if (recent_.empty()) return recent;
  double losses = 0;
  for (std::size_t i = 1; i < recent_.size(); ++i) {
    const StepRecord& record = recent_[i];
    recent.computing += record.computing;
    recent.exchanging += record.exchanging;
    recent.waiting += record.waiting;
    recent.loading += record.loading;
    if (!std::isfinite(record.loss)) continue;
    recent.loss += record.loss;
    ++losses;
  }
  recent.loss = losses > 0 ? recent.loss / losses : std::nan("");
  const StepRecord& first = recent_.front();
  recent.seconds = std::max(recent_.back().seconds - first.seconds, 1e-9);
  const StepRecord& last = recent_.back();
  const std::optional<double> of_step = evaluated_samples_of_step();
  const double samples = of_step ? *of_step * static_cast<double>(last.step - first.step)
                                 : static_cast<double>(last.samples - first.samples);
  recent.samples_per_second = samples / recent.seconds;
  for (double* const time : {&recent.computing, &recent.exchanging, &recent.waiting, &recent.loading})
    *time = std::min(*time / recent.seconds, 10.0);
  return recent;
}

bool WatchedRun::has_epochs() const { return eave::has_epochs(last_.epoch, last_.samples); }

std::vector<PlotPoint> WatchedRun::losses() const {
  std::vector<PlotPoint> points;
  for (const StepPoint& point : losses_.points()) {
    if (std::isfinite(point.loss)) points.push_back({has_epochs() ? point.epoch : point.step, point.loss});
  }
  return points;
}

std::vector<PlotPoint> WatchedRun::accuracies() const {
  std::vector<PlotPoint> points;
  const double factor = is_accuracy(metric_) ? 100 : 1;
  for (const EvaluationRecord& record : evaluations_)
    points.push_back({has_epochs() ? record.epoch : static_cast<double>(record.step), factor * record.center.accuracy});
  return points;
}

std::string WatchedRun::setting(const std::string& name) const { return setting_in(config_, name); }

// Between evaluations the ranks of a program that take steps independently are taken to keep their pace.
double WatchedRun::samples_done() const {
  const auto own = static_cast<double>(last_.samples);
  if (end_ || !config_.contains("program") || evaluations_.empty()) return own;
  const EvaluationRecord& evaluated = evaluations_.back();
  const double since = std::max<double>(static_cast<double>(last_.step - evaluated.step), 0);
  return std::max(own, static_cast<double>(evaluated.samples) + evaluated_samples_of_step().value_or(0) * since);
}

double WatchedRun::share_done() const {
  double share = 0;
  const auto count = [&](double done, double all) {
    if (all > 0) share = std::max(share, std::min(done / all, 1.0));
  };
  count(last_.epoch, number_in(config_, "epochs"));
  count(static_cast<double>(last_.step), number_in(config_, "max-steps"));
  count(samples_done(), number_in(config_, "max-samples"));
  count(samples_done() * static_cast<double>(tokens_per_sample_), number_in(config_, "max-tokens"));
  count(last_.seconds, read_seconds(setting("stop-after-time")).value.value_or(0));
  count(bytes_, static_cast<double>(read_bytes(setting("stop-after-bytes")).value.value_or(0)));
  return share;
}

double WatchedRun::seconds_left() const {
  const double share = share_done();
  return share > 0 ? last_.seconds * (1 - share) / share : std::nan("");
}

}  // namespace eave
