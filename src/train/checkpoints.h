// Saves checkpoints while training goes on, and says when one is due. Every rank copies its state and has a thread
// write its file. The ranks meet some steps later, the same on all, to learn whether all files are written; then rank
// 0's thread commits them, and they meet once more to learn of that. A rank that does not see the directory sends its
// file to rank 0 instead, before training goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/file_calls.h"
#include "eave/trainer.h"
#include "train/checkpoint_directory.h"
#include "train/checkpoint_sending.h"
#include "train/checkpoint_state.h"

namespace eave {

// Where a plan's checkpoints are written.
OutputFolder checkpoint_folder(const CheckpointPlan& plan);

class Checkpoints {
 public:
  // Before Communicator::begin. All outlive it.
  Checkpoints(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  ~Checkpoints() = default;  // waits for what this rank is writing

  bool is_on() const { return !plan_.directory.empty(); }
  // Once, before the first step.
  void begin(const TrainingProgress& progress);
  // Whether meet() is to be called after so many steps; the same on all ranks.
  bool meets_after(std::int64_t steps) const { return is_on() && (steps == next_meeting_ || is_multiple(steps)); }
  // Collective: how writing stands. Returns whether a checkpoint is due now.
  bool meet(const TrainingProgress& progress);
  // Collective, between steps. The one before is committed first. Returns once the state is copied.
  void save(const TrainingProgress& progress);
  // Collective, between steps: returns once it is committed, or has failed; makes no copy. For the end of a run, and
  // for leaving it. `ended`: a note of where it ended before its steps were done, else "". Returns whether it is
  // committed.
  bool save_now(const TrainingProgress& progress, const std::string& ended = "");

  std::int64_t saved() const { return saved_; }
  std::int64_t failed() const { return failed_; }
  double seconds() const { return seconds_; }  // for which this rank did not train

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { kIdle, kWriting, kCommitting };
  enum class Status { kIdle, kBusy, kDone, kFailed };

  // What a rank tells when they meet. What comes next is rank 0's to say.
  struct Report {
    Status status = Status::kIdle;
    StoredFile file = {};
    std::string failure = {};                           // kDone: what else did not work
    std::int64_t steps_if_busy = 0, steps_if_idle = 0;  // to the next meeting; 0: there is none
    bool is_due = false;
  };
  static std::string pack(const Report& report);
  static Report unpack(const std::string& text);

  bool is_multiple(std::int64_t steps) const { return plan_.every_steps > 0 && steps % plan_.every_steps == 0; }
  void start(const TrainingProgress& progress, bool copies);
  std::string who() const;
  void send();
  StoredFile write();
  std::string commit(const Manifest& manifest) const;
  void look(std::int64_t steps);
  void complete();
  Report report(std::int64_t steps);
  void plan_meetings(std::int64_t steps, Report& mine);
  static Report verdict_of(const std::vector<Report>& all);
  void advance(const Report& verdict, const std::vector<Report>& all);
  void begin_commit(const std::vector<Report>& all);
  void fail(const std::string& why);

  const TrainingParts& parts_;
  const CheckpointPlan& plan_;
  const OutputFolder directory_;  // of the plan
  const NormStatistics statistics_;
  const TrainingEvents& events_;
  FileCalls& calls_;

  Phase phase_ = Phase::kIdle;
  SavedState state_;
  std::optional<ReceivedFiles> received_;       // on rank 0, where there are ranks that do not see the directory
  std::string ended_;                           // save_now's
  std::int64_t step_ = 0, committed_step_ = 0;  // that is being written, and the newest of this run
  std::int64_t saved_ = 0, failed_ = 0;
  double seconds_ = 0;

  std::int64_t first_step_ = 0, next_meeting_ = 0;
  bool is_due_ = false;
  double patience_seconds_ = 0;
  Clock::time_point began_, last_;  // of the run, and of the last checkpoint
  Report finished_;                 // what the task ended with, until all have
  std::future<Report> task_;        // last: before it goes, all that it uses is still there
};

}  // namespace eave
