// Writes the run directory of a program with a training loop of its own, in the formats of `eave train`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/directory_lock.h"
#include "c/averager.h"
#include "c/run/run_settings.h"
#include "c/run/step_records.h"
#include "c/step_observer.h"
#include "eave/recorder.h"
#include "eave/transport.h"
#include "report/record/metrics_writer.h"
#include "report/record/stragglers.h"

namespace eave {

// The scores of the consensus that the program has found.
struct ConsensusScores {
  ModelScore test;
  std::optional<ModelScore> validation;
};

// Rank 0 writes all files. Other ranks keep their records until the next evaluation, which sends them to rank 0. A step
// needs no communication for its record. The transport's thread calls all methods but set_loss.
class RunRecorder final : public StepObserver {
 public:
  // Collective. Throws AgreedError: kUsage, kCannotCreate (the directory is not empty, or another run writes there).
  // From then on it observes the averager.
  RunRecorder(Transport& transport, Averager& averager, const std::string& directory, const std::string& settings);
  ~RunRecorder() override;

  void set_loss(double mean) { records_->set_loss(mean); }
  // Collective, between a consensus and the next step. Rank 0's scores count. Throws AgreedError: kUsage if a step has
  // followed the last consensus, kDiverged if rank 0's score is not finite.
  void evaluate(Transport& transport, const ConsensusScores& scores);
  // Collective. Ends the files. Throws AgreedError(kUsage), and changes nothing, if a step has followed the last
  // evaluation.
  void close(Transport& transport);
  // Not collective. The run has ended with this error.
  void fail(const Error& error);

  void before_step(const Step& step, bool is_even) override;
  void after_step(const Step& step, bool is_left_out) override;
  void before_consensus() override { records_->before_consensus(); }
  void after_consensus(double distance) override { distance_ = distance; }
  void averager_is_gone() override { averager_ = nullptr; }

 private:
  struct Files;   // of rank 0
  struct Report;  // of one rank
  Report report() const;
  void begin_files(const std::string& directory);
  void write_header(Transport& transport);
  std::vector<Report> gather(Transport& transport);
  EvaluationRecord record_of(const ConsensusScores& scores, const std::vector<Report>& reports) const;
  RunSummary summary_of(const std::vector<Report>& reports) const;
  void require_averager() const;

  Averager* averager_;
  RunSettings settings_;
  std::optional<StepRecords> records_;
  std::optional<double> distance_;  // at the last consensus, if no step has followed
  bool is_evaluated_ = false;       // an evaluation has followed the last step
  std::optional<EvaluationRecord> evaluation_;
  std::unique_ptr<Files> files_;
};

}  // namespace eave
