#include "report/metrics_reader.h"

#include <algorithm>
#include <cmath>

#include "base/json_integer.h"
#include "base/strict_json.h"
#include "eave/check.h"
#include "report/field_ranges.h"
#include "report/lines.h"
#include "report/loss_curve.h"
#include "report/step_line.h"

namespace eave {
namespace {

constexpr std::size_t kCurvePoints = 200;
constexpr std::size_t kMostEvaluations = 20000;

// Sums over one rank's steps.
struct RankTotals {
  double step = 0;  // the last one
  double seconds = 0, computing = 0, exchanging = 0, waiting = 0, loading = 0, bytes = 0;
};

class MetricsReading {
 public:
  explicit MetricsReading(const std::filesystem::path& path) : lines_(path) {}

  RunRecord read() {
    for (std::string_view line; lines_.next(line);) read_line(line);
    if (lines_.number() == 0) throw Error(ExitCode::kBadData, "metrics.jsonl is empty: the run did not begin");
    if (totals_.empty()) throw Error(ExitCode::kBadData, "metrics.jsonl has no whole line: the run did not begin");
    run_.steps = curve_.points();
    run_.shares = shares();
    if (run_.end == RunEnd::kInterrupted) run_.why = "neither an end nor a failure was recorded";
    return run_;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ExitCode::kBadData, "metrics.jsonl line " + std::to_string(lines_.number()) + " " + why);
  }

  void read_line(std::string_view line) {
    try {
      if (!totals_.empty()) {
        if (const std::optional<StepLine> step = step_line(line)) return read_step(*step);
      }
      const Json object = parse_json(line);
      if (!object.is_object()) refuse("is no JSON object");
      read_object(object);
    } catch (const Json::parse_error&) {
      if (lines_.is_whole()) refuse("is damaged: no JSON");
    } catch (const Json::exception& error) {
      if (lines_.is_whole()) refuse(std::string("is damaged: ") + error.what());
    }
  }

  void read_object(const Json& object) {
    const std::string type = object.value("type", "");
    if (type == "header") return read_header(object);
    if (totals_.empty()) refuse("is no header: not the metrics of an eave run");
    if (type == "step") return read_step(step_line(object));
    if (type == "evaluation") return read_evaluation(object);
    if (type == "end") return read_end(object);
    if (type == "failure") read_failure(object);
  }

  // A run that was resumed has another header for each time.
  void read_header(const Json& object) {
    const auto format = integer_in<std::int64_t>(object.at("format"));
    if (format != kMetricsFormat) {
      refuse("says format " + std::to_string(format) + "; this eave reads format " + std::to_string(kMetricsFormat));
    }
    check_ranges(object, "header");
    object.at("config").get_to(run_.settings);
    run_.train_samples = integer_in<std::int64_t>(object.at("train_samples"));
    run_.test_samples = integer_in<std::int64_t>(object.at("test_samples"));
    const Json& ranks = object.at("ranks");
    if (!ranks.is_array() || ranks.empty()) refuse("names no ranks");
    run_.ranks = static_cast<int>(ranks.size());
    run_.workers =
        static_cast<int>(std::ranges::count_if(ranks, [](const Json& rank) { return rank.value("trains", true); }));
    run_.device = ranks.front().value("device", "");
    run_.end = RunEnd::kInterrupted;
    totals_.resize(ranks.size());
    for (RankTotals& totals : totals_) totals.step = 0;  // it may have gone back to a checkpoint
  }

  void read_step(const StepLine& line) {
    const double rank = line[StepLine::kRank];
    if (!(rank >= 0 && rank < static_cast<double>(totals_.size()))) refuse("is of a rank that the run does not have");
    check_ranges(line);
    RankTotals& totals = totals_[static_cast<std::size_t>(rank)];
    if (line[StepLine::kStep] <= totals.step) refuse("repeats a step, or goes back to an earlier one");
    totals.step = line[StepLine::kStep];
    totals.seconds = line[StepLine::kSeconds];
    totals.computing += line[StepLine::kComputing];
    totals.exchanging += line[StepLine::kExchanging];
    totals.waiting += line[StepLine::kWaiting];
    totals.loading += line[StepLine::kLoading];
    totals.bytes += line[StepLine::kBytes];
    if (rank != 0) return;
    curve_.add({totals.seconds, line[StepLine::kStep], line[StepLine::kEpoch], totals.bytes, line[StepLine::kLoss]});
  }

  void read_evaluation(const Json& object) {
    EvaluationPoint point;
    point.record = evaluation_from(object);
    point.bytes = std::ranges::max(totals_, {}, &RankTotals::bytes).bytes;
    if (run_.evaluations.size() == kMostEvaluations) drop_every_other_evaluation();
    run_.evaluations.push_back(point);
  }

  void drop_every_other_evaluation() {
    for (std::size_t i = 0; 2 * i + 1 < run_.evaluations.size(); ++i) run_.evaluations[i] = run_.evaluations[2 * i + 1];
    run_.evaluations.resize(run_.evaluations.size() / 2);
  }

  void read_end(const Json& object) {
    run_.summary = summary_from(object);
    run_.end = RunEnd::kFinished;
    run_.why.clear();
  }

  void read_failure(const Json& object) {
    check_ranges(object, "failure");
    const int code = object.contains("code") ? integer_in<int>(object.at("code")) : 0;
    const bool diverged = code == static_cast<int>(ExitCode::kDiverged);
    run_.end = diverged ? RunEnd::kDiverged : RunEnd::kFailed;
    run_.why = object.value("message", "");
  }

  TimeShares shares() const {
    RankTotals sum;
    for (const RankTotals& rank : totals_) {
      sum.seconds += rank.seconds;
      sum.computing += rank.computing;
      sum.exchanging += rank.exchanging;
      sum.waiting += rank.waiting;
      sum.loading += rank.loading;
    }
    if (!(sum.seconds > 0)) return {};
    const auto share = [&](double seconds) { return std::min(seconds / sum.seconds, 10.0); };
    return {share(sum.computing), share(sum.exchanging), share(sum.waiting), share(sum.loading)};
  }

  LineReader lines_;
  RunRecord run_;
  std::vector<RankTotals> totals_;  // by rank
  LossCurve curve_{kCurvePoints};
};

}  // namespace

const char* word_of(RunEnd end) {
  switch (end) {
    case RunEnd::kFinished:
      return "finished";
    case RunEnd::kInterrupted:
      return "interrupted";
    case RunEnd::kDiverged:
      return "diverged";
    case RunEnd::kFailed:
      break;
  }
  return "failed";
}

RunRecord read_metrics(const std::filesystem::path& path) { return MetricsReading(path).read(); }

}  // namespace eave
