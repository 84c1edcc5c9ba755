#include "report/watched_run.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/json_integer.h"
#include "base/strict_json.h"
#include "eave/check.h"
#include "report/config.h"
#include "report/field_ranges.h"
#include "report/json.h"
#include "report/line_tail.h"
#include "report/step_line.h"

namespace eave {
namespace {

constexpr double kRecentSeconds = 10;

// A damaged file's may be no number, or none that fits.
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
  ++lines_;
  try {
    take_line(line);
  } catch (const Json::exception& error) {
    if (++damaged_ == 1) first_damage_ = "line " + std::to_string(lines_) + ": " + error.what();
  }
}

void WatchedRun::take_line(const std::string& line) {
  if (line == LineTail::kTooLong) throw UnclearJson("it is longer than 64 MiB");
  std::optional<StepLine> step = step_line(std::string_view(line));
  Json object;
  if (!step) object = parse_json(line);
  const std::string type = step ? "step" : object.at("type").get<std::string>();
  if (type == "step") {
    if (!step) step = step_line(object);
    check_ranges(*step);
    // Those of other ranks come late.
    if ((*step)[StepLine::kRank] == 0) take_step(record_of(*step));
  } else if (type == "evaluation") {
    evaluations_.push_back(evaluation_from(object));
  } else if (type == "end") {
    take_end(object);
  } else if (type == "failure") {
    check_ranges(object, type);
    failure_ = {integer_in<int>(object.at("code")), object.at("message").get<std::string>()};
  } else if (type == "header") {
    take_header(object);
  }
}

void WatchedRun::take_header(const Json& header) {
  check_ranges(header, "header");
  config_ = header.at("config").get<std::map<std::string, std::string>>();
  communicator_ = header.at("communicator").get<std::string>();
  model_ = header.at("model").get<std::string>();
  ranks_ = static_cast<int>(header.at("ranks").size());
  ++headers_;
}

// A run whose end cannot be read has ended all the same.
void WatchedRun::take_end(const Json& end) {
  try {
    end_ = summary_from(end);
  } catch (const Json::exception& error) {
    failure_ = {static_cast<int>(ExitCode::kBadData),
                "line " + std::to_string(lines_) + " of its metrics.jsonl, the end, is damaged: " + error.what()};
  }
}

std::string WatchedRun::damage() const {
  if (damaged_ == 0) return "";
  return (damaged_ == 1 ? "1 damaged line of metrics.jsonl is"
                        : std::to_string(damaged_) + " damaged lines of metrics.jsonl are") +
         " left out; " + (damaged_ == 1 ? "" : "the first, ") + first_damage_;
}

void WatchedRun::take_step(const StepRecord& record) {
  last_ = record;
  losses_.add({record.seconds, static_cast<double>(record.step), record.epoch, 0, record.loss});
  if (recent_.empty()) recent_.emplace_back();
  recent_.push_back(record);
  while (recent_.size() > 2 && recent_[1].seconds <= record.seconds - kRecentSeconds) recent_.pop_front();
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
  recent.seconds = std::max(last_.seconds - recent_.front().seconds, 1e-9);
  recent.samples_per_second = static_cast<double>(last_.samples - recent_.front().samples) / recent.seconds;
  for (double* const time : {&recent.computing, &recent.exchanging, &recent.waiting, &recent.loading})
    *time = std::min(*time / recent.seconds, 10.0);
  return recent;
}

std::vector<PlotPoint> WatchedRun::losses() const {
  std::vector<PlotPoint> points;
  for (const StepPoint& point : losses_.points()) {
    if (std::isfinite(point.loss)) points.push_back({point.epoch, point.loss});
  }
  return points;
}

std::vector<PlotPoint> WatchedRun::accuracies() const {
  std::vector<PlotPoint> points;
  for (const EvaluationRecord& record : evaluations_) points.push_back({record.epoch, 100 * record.center.accuracy});
  return points;
}

std::string WatchedRun::setting(const std::string& name) const { return setting_in(config_, name); }

double WatchedRun::limit(const std::string& name) const { return std::atof(setting(name).c_str()); }

double WatchedRun::share_done() const {
  double share = 0;
  const auto count = [&](double done, double all) {
    if (all > 0) share = std::max(share, std::min(done / all, 1.0));
  };
  count(last_.epoch, limit("epochs"));
  count(static_cast<double>(last_.step), limit("max-steps"));
  count(static_cast<double>(last_.samples), limit("max-samples"));
  return share;
}

double WatchedRun::seconds_left() const {
  const double share = share_done();
  return share > 0 ? last_.seconds * (1 - share) / share : std::nan("");
}

}  // namespace eave
