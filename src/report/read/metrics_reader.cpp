#include "report/read/metrics_reader.h"

#include <algorithm>
#include <variant>

#include "eave/check.h"
#include "report/read/line_reader.h"
#include "report/read/run_lines.h"
#include "report/record/fields.h"
#include "report/record/format_version.h"

namespace eave {
namespace {

constexpr std::size_t kCurvePoints = 200;
constexpr std::size_t kMostEvaluations = 20000;

// Sums over the steps of one rank.
struct RankTotals {
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
    throw Error(ExitCode::kBadData, "metrics.jsonl line " + std::to_string(lines_.number()) + why);
  }

  void read_line(std::string_view line) {
    try {
      std::visit([this](const auto& each) { read(each); }, run_lines_.take(line));
    } catch (const UnknownFormat& error) {
      refuse(std::string(": ") + error.what());
    } catch (const Json::exception& error) {
      // A killed run may leave an incomplete last line.
      if (lines_.is_whole()) refuse(" is damaged: " + why_unreadable(error) + kPutBack);
    }
  }

  // Each resume adds a header.
  void read(const HeaderLine& header) {
    run_.settings = header.config;
    run_.train_samples = header.train_samples;
    run_.test_samples = header.test_samples;
    run_.ranks = static_cast<int>(header.ranks.size());
    run_.workers = header.workers();
    run_.device = header.ranks.front().device;
    run_.end = RunEnd::kInterrupted;
    totals_.resize(header.ranks.size());
  }

  void read(const StepLine& line) {
    RankTotals& totals = totals_[static_cast<std::size_t>(line[StepLine::kRank])];
    totals.seconds = line[StepLine::kSeconds];
    totals.computing += line[StepLine::kComputing];
    totals.exchanging += line[StepLine::kExchanging];
    totals.waiting += line[StepLine::kWaiting];
    totals.loading += line[StepLine::kLoading];
    totals.bytes += line[StepLine::kBytes];
    if (line[StepLine::kRank] != 0) return;
    curve_.add({totals.seconds, line[StepLine::kStep], line[StepLine::kEpoch], totals.bytes, line[StepLine::kLoss]});
  }

  void read(const EvaluationRecord& record) {
    EvaluationPoint point;
    point.record = record;
    point.bytes = std::ranges::max(totals_, {}, &RankTotals::bytes).bytes;
    if (run_.evaluations.size() == kMostEvaluations) drop_every_other_evaluation();
    run_.evaluations.push_back(point);
  }

  void drop_every_other_evaluation() {
    for (std::size_t i = 0; 2 * i + 1 < run_.evaluations.size(); ++i) run_.evaluations[i] = run_.evaluations[2 * i + 1];
    run_.evaluations.resize(run_.evaluations.size() / 2);
  }

  void read(const RunSummary& end) {
    run_.summary = end;
    run_.end = RunEnd::kFinished;
    run_.why.clear();
  }

  void read(const FailureLine& failure) {
    const bool diverged = failure.code == static_cast<int>(ExitCode::kDiverged);
    run_.end = diverged ? RunEnd::kDiverged : RunEnd::kFailed;
    run_.why = failure.message;
  }

  void read(const OtherLine&) {}

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
  RunLines run_lines_;
  RunRecord run_;
  std::vector<RankTotals> totals_;  // by rank
  LossCurve curve_{kCurvePoints};
};

}  // namespace

RunRecord read_metrics(const std::filesystem::path& path) { return MetricsReading(path).read(); }

}  // namespace eave
