#include "report/watched_run.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/json_integer.h"
#include "base/json_nesting.h"
#include "report/config.h"
#include "report/json.h"
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
  if (const std::optional<StepLine> step = step_line(std::string_view(line))) {
    // Those of other ranks come late.
    if ((*step)[StepLine::kRank] == 0) take_step(record_of(*step));
    return;
  }
  if (is_too_nested(line)) return;
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object()) return;
  try {
    const std::string type = object.at("type");
    if (type == "evaluation") {
      evaluations_.push_back(evaluation_from(object));
    } else if (type == "end") {
      end_ = summary_from(object);
    } else if (type == "failure") {
      failure_ = {integer_in<int>(object.at("code")), object.at("message").get<std::string>()};
    } else if (type == "header") {
      config_ = object.at("config").get<std::map<std::string, std::string>>();
      communicator_ = object.at("communicator").get<std::string>();
      model_ = object.at("model").get<std::string>();
      ranks_ = static_cast<int>(object.at("ranks").size());
      ++headers_;
    }
  } catch (const Json::exception&) {
    return;  // the rest of the run can be shown all the same
  }
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
    *time /= recent.seconds;
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
