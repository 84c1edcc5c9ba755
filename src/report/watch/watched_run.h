// The state of one run, as far as its metrics.jsonl tells.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eave/recorder.h"
#include "report/read/metrics_parser.h"
#include "report/record/run_record.h"
#include "report/text/terminal.h"

namespace eave {

// Means over the last 10 seconds of rank 0's steps, and shares of its time. Exchanging overlaps computing, so the four
// shares may add up to more than 1.
struct RecentSteps {
  double seconds = 0, loss = 0, samples_per_second = 0;  // samples of all ranks
  double computing = 0, exchanging = 0, waiting = 0, loading = 0;
};

class WatchedRun {
 public:
  // Takes one line of the file. A damaged line, or one with impossible values, is counted and otherwise ignored; but a
  // damaged "end" line ends the run too. A line of an unknown type changes nothing. After the header of an unknown
  // format, which counts as a failure, all lines are ignored.
  void take(const std::string& line);
  // "2 lines are left out; the first, line 7: ..."; "" if there are none.
  std::string damage() const;
  // damage(), and how many lines the run could not write; "" if no line is missing.
  std::string gaps() const;

  bool has_begun() const { return ranks_ > 0; }  // its header has been read
  bool has_ended() const { return end_ || failure_; }
  bool was_resumed() const { return headers_ > 1; }
  std::string setting(const std::string& name) const;  // "" if it is not set
  const std::string& communicator() const { return communicator_; }
  const std::string& model() const { return model_; }
  int ranks() const { return ranks_; }
  std::int64_t tokens_per_sample() const { return tokens_per_sample_; }  // 0 if samples are not text

  // Rank 0's last step; step 0 before the first. When the run has finished, its steps, epoch, samples and seconds are
  // those of the end.
  const StepRecord& last() const { return last_; }
  bool has_steps() const { return !recent_.empty(); }  // a line of a step of rank 0 has been read
  RecentSteps recent() const;                          // zeros if there are no steps
  bool has_epochs() const;                             // a program may not have told the size of its training set
  std::vector<PlotPoint> losses() const;               // of rank 0, by epoch; by step if there are no epochs
  std::vector<PlotPoint> accuracies() const;           // of the consensus, in percent, or its metric; likewise
  const Metric& metric() const { return metric_; }
  const std::vector<EvaluationRecord>& evaluations() const { return evaluations_; }
  const std::optional<RunSummary>& end() const { return end_; }
  const std::optional<FailureLine>& failure() const { return failure_; }
  // The failure is that this eave cannot read the file, whatever became of the run.
  bool has_unknown_format() const { return has_unknown_format_; }

  // The share of the run that is done, 0-1, by its limit on epochs, steps, samples, time or bytes, whichever is
  // nearest. The run may stop earlier.
  double share_done() const;
  double seconds_left() const;  // at the speed so far; NaN before the first step

 private:
  // Samples of all ranks in a step, between the last two evaluations; nothing if step lines know it themselves.
  std::optional<double> evaluated_samples_of_step() const;
  double samples_done() const;  // of all ranks
  void take_line(const std::string& line);
  void note(const std::string& line, const std::string& why);
  void take(const HeaderLine& header);
  void take(const StepLine& line);
  void take(const EvaluationRecord& record) { evaluations_.push_back(record); }
  void take(const RunSummary& end);
  void take(const FailureLine& failure) { failure_ = failure; }
  void take(const LostLines& lost) { lost_ += lost.lines; }
  void take(const OtherLine&) {}
  std::map<std::string, std::string> config_;
  std::string communicator_, model_;
  Metric metric_;
  std::int64_t tokens_per_sample_ = 0;
  int ranks_ = 0, headers_ = 0;
  StepRecord last_;
  double bytes_ = 0;               // sent by rank 0
  std::deque<StepRecord> recent_;  // the first record marks the begin of the time
  LossCurve losses_{1000};
  std::size_t earlier_ = 0;  // how many of recent_ come from before the last header
  std::vector<EvaluationRecord> evaluations_;
  std::size_t first_evaluation_ = 0;  // after the last header
  std::optional<RunSummary> end_;
  std::optional<FailureLine> failure_;
  bool has_unknown_format_ = false;
  MetricsParser lines_;
  std::int64_t damaged_ = 0, lost_ = 0;
  std::string first_damage_;
};

}  // namespace eave
