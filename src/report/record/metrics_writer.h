// metrics.jsonl holds one JSON object per line and is written by rank 0.
//
//   {"type": "header", "format": 1, "version": …, "config": {option: text, …}, "communicator": …, "equation": …,
//    "optimizer": …, "learning_rate": …, "ranks": [{"rank", "host", "device", "cores", "class_histogram": [samples of
//    each class], "trains": false if it only keeps a center}, …], "model": …, "parameters": count, "train_samples",
//    "test_samples", "test_labels" and "tokens_per_sample" if samples are text, "classes", "class_names": [name, …] in
//    the order of labels, if the data has them, "data_identity", "initial_identity": hashes of what the run began from,
//    "metric": {"name", "better"} if it is not accuracy; then the format is
//    2, and models have a "score" in place of "accuracy"}
//   {"type": "step", "rank", "step", "samples", "epoch", "loss", "learning_rate", "seconds", "computing", "exchanging",
//    "waiting", "loading", "bytes"}                     fields as StepRecord; loss is null if the rank had no samples
//                                                      with a finite loss; "nonfinite" is there if it is not 0,
//                                                      "gradient_norm" with --clip-norm
//   {"type": "evaluation", "step", "samples", "epoch", "seconds", "evaluation_seconds",
//    "center": {"loss", "accuracy"}, "consensus_distance": {"min", "mean", "max"}}  fields as EvaluationRecord
//    "mean_of_workers": {…}, "first_worker": {…}, "best_worker": {…, "rank"}  unless only the run's end has them
//    "validation": {"loss", "accuracy"} of the center, if samples are held out
//    "ema": {"loss", "accuracy"} of its moving average, with --ema-decay
//   {"type": "end", … the fields of summary.json}
//   {"type": "failure", "code": exit code, "message"}    instead of the end
//   {"type": "lost", "lines"}                          number of lines missing here, because the disk was full
//
// Step lines of one rank are in the order of its steps. Rank 0 writes its own within a second of the step, or at the
// next step if that takes longer. It writes those of other ranks before each evaluation and, if evaluations are rare,
// after a million steps of each rank. Ranks that train independently never synchronize only for this file.
//
// So all step lines up to an evaluation come before it, and a killed run loses at most a second of rank 0's lines. If a
// run is killed while it writes a line, that line may lack its end. The step lines that a checkpoint covers are on the
// disk before the checkpoint is committed.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/host.h"
#include "eave/check.h"
#include "eave/recorder.h"
#include "report/record/log_file.h"

namespace eave {

struct RankFacts {
  std::string host;
  std::string device;
  std::string cores;
  std::vector<std::int64_t> class_histogram;
  bool trains = true;       // false: it only keeps a center
  GroupLimits limits = {};  // only for the card, not in metrics.jsonl
};

struct RunHeader {
  std::string version;  // of eave, such as "0.1.0"
  Metric metric = {};
  std::map<std::string, std::string> config;
  std::string communicator;
  std::string equation;
  std::string optimizer;
  std::string learning_rate;
  std::string model;
  std::int64_t parameters = 0;
  std::int64_t train_samples = 0;
  std::int64_t test_samples = 0;
  std::int64_t test_labels = 0;        // of text: labels in the test set; 0 if each sample has one
  std::int64_t tokens_per_sample = 0;  // of text: tokens of a window; 0 if samples are not text
  int classes = 0;
  std::vector<std::string> class_names = {};  // in the order of labels; empty if the data has none
  std::string data_identity = {};             // DataSplit::identity; "" if it is not known
  std::string initial_identity = {};          // a hash of the --initial-parameters that were read; "" if none were
  std::vector<RankFacts> ranks;
};

// Appends whole lines with each call. Lines that cannot be written are lost. The next call tries again, and records in
// the file how many lines were lost. Any thread may call it.
class MetricsWriter {
 public:
  // Throws Error(kCannotCreate).
  explicit MetricsWriter(const OutputPath& path, Warn warn = {});
  // The header explains all other lines, so this throws Error(kInputOutput) if it cannot be written.
  void write_header(const RunHeader& header);
  void write_steps(int rank, const std::vector<StepRecord>& records);
  void write_evaluation(const EvaluationRecord& record);
  void write_failure(const Error& error);              // the last line of a run that failed: later ones are dropped
  void write_end(const RunSummary& summary);           // throws as write_header does
  std::string flush() const { return file_.flush(); }  // as LogFile::flush
  std::int64_t lost() const;                           // lines

 private:
  void write(const std::string& lines, bool are_last = false);
  void require_written() const;
  mutable std::mutex mutex_;
  LogFile file_;
  bool has_failed_ = false;
  std::int64_t lost_ = 0, untold_ = 0;  // lost lines; those of them not recorded in the file yet
};

}  // namespace eave
