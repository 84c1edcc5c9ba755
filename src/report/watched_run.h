// One run as far as metrics.jsonl tells of it by now.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eave/recorder.h"
#include "report/loss_curve.h"
#include "report/run_lines.h"
#include "report/text_plot.h"

namespace eave {

// Rank 0's last steps: means, and shares of its time. Exchanging runs behind computing, so the four may have a sum
// over 1.
struct RecentSteps {
  double seconds = 0, loss = 0, samples_per_second = 0;  // samples of all ranks
  double computing = 0, exchanging = 0, waiting = 0, loading = 0;
};

class WatchedRun {
 public:
  // A line of the file. One that is damaged, or says what cannot be, is counted and left out; one of a kind that is
  // not known says nothing.
  void take(const std::string& line);
  // "2 lines are left out; the first, line 7: ..."; "" if there are none.
  std::string damage() const;

  bool has_begun() const { return ranks_ > 0; }  // its header is there
  bool has_ended() const { return end_ || failure_; }
  bool was_resumed() const { return headers_ > 1; }
  std::string setting(const std::string& name) const;  // "" where it is not set
  const std::string& communicator() const { return communicator_; }
  const std::string& model() const { return model_; }
  int ranks() const { return ranks_; }

  const StepRecord& last() const { return last_; }  // of rank 0; step 0 before the first
  RecentSteps recent() const;
  std::vector<PlotPoint> losses() const;      // of rank 0, by epoch
  std::vector<PlotPoint> accuracies() const;  // of the consensus, in percent, by epoch
  const std::vector<EvaluationRecord>& evaluations() const { return evaluations_; }
  const std::optional<RunSummary>& end() const { return end_; }
  const std::optional<FailureLine>& failure() const { return failure_; }

  // How much of what it may take is done, by --epochs, --max-steps or --max-samples, 0-1; it may stop before.
  double share_done() const;
  double seconds_left() const;  // at the speed so far; NaN before the first step

 private:
  void take_line(const std::string& line);
  void note(const std::string& line, const std::string& why);
  void take(const HeaderLine& header);
  void take(const StepLine& line);
  void take(const EvaluationRecord& record) { evaluations_.push_back(record); }
  void take(const RunSummary& end) { end_ = end; }
  void take(const FailureLine& failure) { failure_ = failure; }
  void take(const OtherLine&) {}
  double limit(const std::string& name) const;
  std::map<std::string, std::string> config_;
  std::string communicator_, model_;
  int ranks_ = 0, headers_ = 0;
  StepRecord last_;
  std::deque<StepRecord> recent_;  // the first one is where they begin
  LossCurve losses_{1000};
  std::vector<EvaluationRecord> evaluations_;
  std::optional<RunSummary> end_;
  std::optional<FailureLine> failure_;
  RunLines lines_;
  std::int64_t damaged_ = 0;
  std::string first_damage_;
};

}  // namespace eave
