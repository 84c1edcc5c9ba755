// Saves checkpoints while training goes on, and says when one is due. Each rank copies its state, and a thread of its
// own writes the file. Some steps later, the same on all ranks, the ranks meet to learn whether all files are written.
// Then rank 0's thread commits the checkpoint, and the ranks meet once more to learn the outcome. A rank without access
// (checkpoint/checkpoint_transfer.h) sends its file to rank 0 instead, before training goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_transfer.h"
#include "eave/trainer.h"
#include "train/saving/checkpoint_state.h"

namespace eave {

// The directory to which a plan's checkpoints are written.
OutputFolder checkpoint_folder(const CheckpointPlan& plan);

class Checkpoints {
 public:
  // Construct before Communicator::begin. All arguments outlive this object.
  Checkpoints(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;
  ~Checkpoints() = default;  // waits until this rank's thread has ended

  bool is_on() const { return !plan_.directory.empty(); }
  // Call once, before the first step.
  void begin(const TrainingProgress& progress);
  // Whether the caller must call meet() after this many steps; the same on all ranks.
  bool meets_after(std::int64_t steps) const { return is_on() && (steps == next_meeting_ || is_multiple(steps)); }
  // Collective: the ranks learn how far writing has come. Returns whether a checkpoint is due now.
  bool meet(const TrainingProgress& progress);
  // Collective, between steps. Commits the previous checkpoint first. Returns once the state is copied.
  void save(const TrainingProgress& progress);
  // Collective, between steps, for the end of a run and for leaving it. Makes no copy, and returns once the checkpoint
  // is committed or has failed. `ended`: if the run ended here before its last step, the note kEnded of the manifest,
  // else "". Returns whether the checkpoint is committed.
  bool save_now(const TrainingProgress& progress, const std::string& ended = "");
  // Collective. Returns once the checkpoint that is being written, if any, is committed or has failed.
  void complete();

  std::int64_t saved() const { return saved_; }
  std::int64_t failed() const { return failed_; }
  double seconds() const { return seconds_; }  // seconds for which this rank did not train

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { kIdle, kWriting, kCommitting };
  enum class Status { kIdle, kBusy, kDone, kFailed };

  // A rank's report at a meeting. Rank 0's report also plans the next meeting.
  struct Report {
    Status status = Status::kIdle;
    StoredFile file = {};
    std::string failure = {};                           // kDone: a failure that does not stop the checkpoint
    std::int64_t steps_if_busy = 0, steps_if_idle = 0;  // to the next meeting; 0: none
    bool is_due = false;
  };
  static std::string pack(const Report& report);
  static Report unpack(const std::string& text);

  bool is_multiple(std::int64_t steps) const { return plan_.every_steps > 0 && steps % plan_.every_steps == 0; }
  void start(const TrainingProgress& progress, bool copies);
  std::optional<std::int64_t> steps_since_average(std::int64_t steps) const;
  void start_to_write();
  std::string who() const;
  void send();
  void require_directory() const;
  std::string why_lost_directory() const;
  StoredFile write();
  std::string commit(const Manifest& manifest) const;
  void look(std::int64_t steps);
  void meet_from(std::int64_t steps);
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
  TakenState state_;
  std::optional<ReceivedFiles> received_;       // on rank 0, if there are ranks without access
  std::optional<std::int64_t> since_average_;   // for kSinceAverage
  std::string ended_;                           // the argument of save_now
  std::int64_t step_ = 0, committed_step_ = 0;  // being written; the newest of this run
  std::int64_t saved_ = 0, failed_ = 0;
  double seconds_ = 0;

  std::int64_t first_step_ = 0, next_meeting_ = 0;
  bool is_due_ = false;
  double patience_seconds_ = 0;
  Clock::time_point began_, last_;  // start of the run, and of the last checkpoint
  // The result of this rank's task, kept until all ranks have theirs.
  Report finished_;
  std::future<Report> task_;  // declared last, so destroyed first: the task uses the members above
};

}  // namespace eave
