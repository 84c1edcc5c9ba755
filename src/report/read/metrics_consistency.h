// Checks the lines of one metrics.jsonl against each other, by the rules of FORMATS.md, "What must agree".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eave/recorder.h"
#include "report/read/step_line.h"

namespace eave {

struct HeaderRank {
  std::int64_t rank = 0;
  std::string host, device, cores;
  bool trains = true;
};

struct HeaderLine {
  std::map<std::string, std::string> config;
  std::string communicator, model;
  std::string version;  // of eave; "" if it is not recorded
  Metric metric = {};
  std::int64_t parameters = 0, train_samples = 0, test_samples = 0, classes = 0;
  std::int64_t test_labels = 0, tokens_per_sample = 0;  // 0 if they are not recorded
  std::string data_identity, initial_identity;          // "" if they are not recorded
  std::vector<HeaderRank> ranks;

  int workers() const;  // ranks that train
};

struct FailureLine;
struct LostLines;
struct OtherLine;

// Whole lines may be missing (--log-every, a full disk), so sums over lines are compared with the end as lower bounds.
class MetricsConsistency {
 public:
  // Call `take` with each line, in order. It throws Contradiction if the line does not agree with earlier lines, and
  // then leaves this object unchanged. `number` is the line's number in its file.
  void take(const HeaderLine& header, std::size_t number);
  void take(const StepLine& step, std::size_t number);
  void take(const EvaluationRecord& evaluation, std::size_t number);
  void take(const RunSummary& end, std::size_t number);
  void take(const FailureLine& failure, std::size_t number);
  void take(const LostLines& lost, std::size_t number);
  void take(const OtherLine& other, std::size_t number);

  const HeaderLine* header() const { return header_ ? &*header_ : nullptr; }  // the last one

 private:
  // The last step, samples and seconds of one rank's lines, and sums over them. Times are summed since the last header,
  // bytes since the run began or was resumed with --resume elastic.
  struct OfRank {
    double step = 0, samples = 0, seconds = 0, bytes = 0;
    double computing = 0, loading = 0, exchanging = 0, waiting = 0;
  };

  void require_running() const;
  void require_samples(double step, double samples, double epoch) const;
  void require_times(const StepLine& line, const OfRank& before) const;
  void require_header(const RunSummary& end) const;
  void require_steps(const RunSummary& end) const;
  void require_evaluation(const RunSummary& end) const;

  std::optional<HeaderLine> header_;
  std::vector<OfRank> ranks_;
  std::optional<EvaluationRecord> evaluation_;  // the last one
  double evaluated_step_ = 0, evaluated_seconds_ = 0, evaluation_seconds_ = 0;
  double batch_ = 0;  // samples of one step of all ranks; 0: not known
  // The line number of the end or failure after the last header; 0: there is none.
  std::size_t ended_ = 0;
};

// Compares two configurations. Returns the first setting that a run may never change and in which they differ, as
// "batch is 8, but must be 4"; empty if there is none. With `is_whole`, every setting counts.
std::string differing_setting(const std::map<std::string, std::string>& config,
                              const std::map<std::string, std::string>& other, bool is_whole);

}  // namespace eave
