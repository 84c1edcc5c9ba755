// One run as a report needs it: the contents of metrics.jsonl, with the steps thinned to a curve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "eave/recorder.h"

namespace eave {

enum class RunEnd { kFinished, kInterrupted, kDiverged, kFailed };

const char* word_of(RunEnd end);

// Some consecutive steps of rank 0: the values at the last of them, and their mean loss.
struct StepPoint {
  double seconds = 0, step = 0, epoch = 0;
  double bytes = 0;                          // sent by rank 0 since the start
  double loss = 0;                           // NaN: none of these steps had samples
  std::optional<double> gradient_norm = {};  // of the last of these steps, with --clip-norm
};

struct EvaluationPoint {
  EvaluationRecord record;
  double bytes = 0;  // sent so far, by the rank that sent most
};

// Shares of the training ranks' seconds, 0-1. Exchanging overlaps computing, so the four may add up to more than 1.
struct TimeShares {
  double computing = 0, exchanging = 0, waiting = 0, loading = 0;
};

struct RanksOfHost {
  int ranks = 0;
  std::set<int> cores;  // that one of them may run on
};

struct RunRecord {
  std::string name;
  std::map<std::string, std::string> settings;  // every option in force
  Metric metric = {};
  std::int64_t train_samples = 0, test_samples = 0;
  std::int64_t test_labels = 0;                 // as many as test_samples, unless samples are windows of text
  std::int64_t tokens_per_sample = 0;           // 0 if samples are not text
  std::string data_identity, initial_identity;  // hashes of what the run began from; "" if they are not recorded
  int ranks = 0, workers = 0;                   // all ranks, and those that train
  std::vector<int> ranks_in_turn;               // more than one number if --resume elastic has changed it
  std::string device;                           // of rank 0
  std::string version;                          // of eave; "" if it is not recorded
  std::set<std::string> hosts;                  // on which a rank ran
  // Since the run began or was last resumed. Hosts whose cores are not recorded are left out.
  std::map<std::string, RanksOfHost> ranks_of_hosts;
  double seconds_before = 0;  // training time before the run was last resumed
  RunEnd end = RunEnd::kInterrupted;
  std::string why;              // why the run did not finish; "" if it did
  std::int64_t lost_lines = 0;  // that the run could not write
  std::vector<StepPoint> steps;
  std::vector<EvaluationPoint> evaluations;
  TimeShares shares;
  std::optional<RunSummary> summary;  // if the run finished
};

// A curve of training losses whose number of points is bounded, however many steps there are.
//
// All points cover the same number of steps, except that the last may cover fewer. A point has the mean loss of its
// steps, and the other values of the last step. If there are too many points, neighbouring points are merged in pairs.
class LossCurve {
 public:
  explicit LossCurve(std::size_t limit) : limit_(limit) {}
  void add(const StepPoint& step);
  std::vector<StepPoint> points() const;

 private:
  struct Bucket {
    StepPoint last;
    double sum = 0;
    double counted = 0;  // steps that had a loss
    std::size_t steps = 0;
  };
  void halve();
  std::size_t limit_;
  std::size_t per_bucket_ = 1;
  std::vector<Bucket> buckets_;
};

}  // namespace eave
