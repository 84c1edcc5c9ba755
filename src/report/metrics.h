// metrics.jsonl: one JSON object a line, written by rank 0.
//
//   {"type": "header", "format": 1, "config": {option: text, …}, "communicator": …, "equation": …, "optimizer": …,
//    "learning_rate": …, "ranks": [{"rank", "host", "device", "cores", "class_histogram": [samples of each class],
//    "trains": whether, or it only keeps a center}, …],
//    "model": …, "parameters": count, "train_samples", "test_samples", "classes",
//    "class_names": [name, …] in the order of labels, where the data has them}
//   {"type": "step", "rank", "step", "samples", "epoch", "loss", "learning_rate", "seconds", "computing", "exchanging",
//    "waiting", "loading", "bytes"}                     fields as StepRecord; loss is null where a rank had no samples,
//                                                      or none whose loss was finite; "nonfinite" where it is not 0
//   {"type": "evaluation", "step", "samples", "epoch", "seconds", "evaluation_seconds",
//    "center": {"loss", "accuracy"}, "consensus_distance": {"min", "mean", "max"}}  fields as EvaluationRecord
//    "mean_of_workers": {…}, "first_worker": {…}, "best_worker": {…, "rank"}  unless they are left for the run's end
//    "validation": {"loss", "accuracy"} of the center, where samples are held out
//   {"type": "end", … the fields of summary.json}
//   {"type": "failure", "code": exit code, "message"}    instead of the end
//   {"type": "lost", "lines"}                          so many lines are missing here: the disk was full
//
// Step lines of one rank stand in the order of its steps. Rank 0's own are written within a second of the step (or the
// next step, where it takes longer than the one before); those of the other ranks before each evaluation and, where
// evaluations are rare, after a million of each rank: ranks that train on their own do not meet for the sake of this
// file. So all lines of steps up to an evaluation stand before it, and a run that is killed has lost at most a second
// of rank 0's. A line that was being written when the run was killed may lack its end. Lines of steps that a checkpoint
// has are on the disk before it is committed.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/control_groups.h"
#include "eave/check.h"
#include "eave/recorder.h"
#include "report/log_file.h"

namespace eave {

struct RankFacts {
  std::string host;
  std::string device;
  std::string cores;
  std::vector<std::int64_t> class_histogram;
  bool trains = true;       // else it keeps a center and nothing else
  GroupLimits limits = {};  // for the card; not in metrics.jsonl
};

struct RunHeader {
  std::map<std::string, std::string> config;
  std::string communicator;
  std::string equation;
  std::string optimizer;
  std::string learning_rate;
  std::string model;
  std::int64_t parameters = 0;
  std::int64_t train_samples = 0;
  std::int64_t test_samples = 0;
  int classes = 0;
  std::vector<std::string> class_names = {};  // in the order of labels; empty where the data has none
  std::vector<RankFacts> ranks;
};

// Appends whole lines, with each call. Where they cannot be written they are lost; the next call tries again, and says
// in the file how many there were.
class MetricsWriter {
 public:
  // Throws Error(kCannotCreate).
  explicit MetricsWriter(const OutputPath& path, Warn warn = {});
  // What all other lines are about: throws Error(kInputOutput) where it cannot be written.
  void write_header(const RunHeader& header);
  void write_steps(int rank, const std::vector<StepRecord>& records);
  void write_evaluation(const EvaluationRecord& record);
  void write_failure(const Error& error);              // the last line of a run that failed
  void write_end(const RunSummary& summary);           // a result: throws as write_header
  std::string flush() const { return file_.flush(); }  // as LogFile's
  std::int64_t lost() const { return lost_; }          // lines

 private:
  void write(const std::string& lines);
  void require_written() const;
  LogFile file_;
  std::int64_t lost_ = 0, untold_ = 0;  // lines; of those, the ones that the file does not speak of yet
};

}  // namespace eave
