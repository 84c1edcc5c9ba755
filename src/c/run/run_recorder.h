// Writes the run directory of a program with a training loop of its own, in the formats of `eave train`.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/files/directory_lock.h"
#include "c/averager.h"
#include "c/run/rank_reports.h"
#include "c/run/run_settings.h"
#include "c/run/step_records.h"
#include "c/step_observer.h"
#include "eave/recorder.h"
#include "eave/transport.h"
#include "report/record/metrics_writer.h"
#include "report/record/reopened_run.h"
#include "report/record/run_directory.h"
#include "report/record/stragglers.h"

namespace eave {

// The scores that the program has found of the models of a run.
struct ModelScores {
  ModelScore test;  // of the consensus
  std::optional<ModelScore> validation;
  // All ranks have both, or none has them. `own`: of this rank's parameters.
  std::optional<ModelScore> mean, own;
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
  // Collective, between a consensus and the next step. Rank 0's scores count, and `own` of all ranks. Throws
  // AgreedError: kUsage if a step has followed the last consensus, kDiverged if a score that counts is not finite.
  void evaluate(Transport& transport, const ModelScores& scores);
  // Collective. Ends the files. Throws AgreedError(kUsage), and changes nothing, if a step has followed the last
  // evaluation.
  void close(Transport& transport);
  // Not collective. The run has ended with this error.
  void fail(const Error& error);
  // The same of a failure on another rank, which is about to end this one. Any thread may call it at any time.
  void fail_elsewhere(const Error& error);

  void before_step(const Step& step, CountedSamples counted) override;
  void refuse_joined(std::int64_t samples) const override { records_->refuse_joined(samples); }
  void after_step(const Step& step, bool is_left_out) override;
  void before_meeting() override { records_->before_meeting(); }
  void before_consensus() override { records_->before_consensus(); }
  void after_consensus(double distance) override { distance_ = distance; }
  void begin_save() override { records_->begin_save(); }
  ObservedSteps before_save(Transport& transport, TrainingProgress& progress) override;
  void after_checkpoint() override { records_->after_checkpoint(); }
  void averager_is_gone() override { averager_ = nullptr; }

 private:
  struct Files;  // of rank 0
  RankReport report() const;
  bool goes_on() const;
  KeptRecord begin_files(const OutputFolder& folder, const std::vector<std::int64_t>& steps);
  void write_header(Transport& transport);
  std::vector<RankReport> gather(Transport& transport, const std::optional<ModelScore>& own = {});
  double epochs_of(std::int64_t samples) const;
  void complete(StepRecord& record, const RankTotals& all) const;
  void require_scores(const ModelScores& scores, int rank) const;
  WorkerScores scores_of_workers(const ModelScore& mean, const std::vector<RankReport>& reports) const;
  EvaluationRecord record_of(const ModelScores& scores, const std::vector<RankReport>& reports) const;
  RunSummary summary_of(const std::vector<RankReport>& reports) const;
  void drop_files();
  void require_averager() const;
  void warn_of_guessed_samples();
  std::int64_t repaired() const { return repaired_before_ + averager_->repaired(); }

  Averager* averager_;
  RunSettings settings_;
  std::optional<StepRecords> records_;
  std::optional<double> distance_;    // at the last consensus, if no step has followed
  std::int64_t repaired_before_ = 0;  // times that replicas were, without those that the averager counts
  bool is_evaluated_ = false;         // an evaluation has followed the last step
  bool has_warned_ = false;           // that samples are guessed
  std::optional<EvaluationRecord> evaluation_;
  std::mutex files_mutex_;  // held by fail_elsewhere, and while files_ goes
  std::unique_ptr<Files> files_;
};

}  // namespace eave
