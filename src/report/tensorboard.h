// A run as TensorBoard shows it, beside metrics.jsonl: event files in the run directory, written by rank 0.
#pragma once

#include <utility>
#include <vector>

#include "eave/recorder.h"
#include "report/event_file.h"

namespace eave {

// Of steps: loss, learning_rate, samples_per_second (all ranks), time/computing, time/exchanging, time/waiting,
// time/loading (shares of rank 0's seconds), bytes (sent by rank 0 since the start, or since the run was resumed).
// Of evaluations: test/accuracy/ and test/loss/ center, mean, best_worker; validation/accuracy, validation/loss where
// samples are held out; consensus_distance.
class TensorBoard {
 public:
  explicit TensorBoard(const OutputFolder& directory, Warn warn = {}) : file_(directory, std::move(warn)) {}
  std::int64_t lost() const { return file_.lost(); }  // events

  // Rank 0's records, in the order of its steps. The first one is an event by itself, without speed and shares: of a
  // run that was resumed it is not known when it began. Then each event is the mean of a second of training, or of one
  // record that took longer.
  void write(const std::vector<StepRecord>& records);
  void write(const EvaluationRecord& record);
  void finish();  // writes what is left of a second

 private:
  void add(const StepRecord& record);
  EventFile file_;
  StepRecord begin_;  // where the event that is gathered begins: seconds and samples
  StepRecord sum_;    // of its records, and the last of them
  bool has_begun_ = false;
  double losses_ = 0;  // records that have one
  std::int64_t bytes_ = 0;
};

}  // namespace eave
