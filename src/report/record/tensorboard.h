// Writes a run's records as TensorBoard's event files, beside metrics.jsonl in the run directory. Only rank 0 writes.
#pragma once

#include <utility>
#include <vector>

#include "eave/recorder.h"
#include "report/record/event_file.h"

namespace eave {

// Tags of steps: loss, learning_rate, samples_per_second (all ranks), bytes (sent by rank 0 since the start or the
// resume), time/computing, time/exchanging, time/waiting, time/loading (shares of rank 0's seconds).
// Tags of evaluations: test/accuracy/ and test/loss/ of center, mean, best_worker; consensus_distance; and, if samples
// are held out, validation/accuracy, validation/loss.
class TensorBoard {
 public:
  explicit TensorBoard(const OutputFolder& directory, Warn warn = {}) : file_(directory, std::move(warn)) {}
  std::int64_t lost() const { return file_.lost(); }  // events

  // Takes rank 0's records in the order of its steps. The first record becomes an event of its own, without speed and
  // shares, because the start of a resumed run is not known. After it, each event is the mean over a second of
  // training, or over one record that took longer.
  void write(const std::vector<StepRecord>& records);
  void write(const EvaluationRecord& record);
  void finish();  // writes the rest that does not fill a second

 private:
  void add(const StepRecord& record);
  EventFile file_;
  StepRecord begin_;  // seconds and samples at which the current event begins
  StepRecord sum_;    // sums over its records, and the values of the last one
  bool has_begun_ = false;
  double losses_ = 0;  // number of records with a loss
  std::int64_t bytes_ = 0;
};

}  // namespace eave
