#include "train/saving/checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/host.h"
#include "base/thread.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "train/loop/consensus_average.h"

namespace eave {
namespace {

constexpr std::int64_t kFirstMeeting = 16;  // steps; by then rank 0 knows how long a step takes
// Time to the first meeting while files are being written; it doubles at each further meeting.
constexpr double kFirstPatienceSeconds = 0.1;

class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& seconds_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

OutputFolder checkpoint_folder(const CheckpointPlan& plan) {
  if (plan.is_named) return plan.directory;
  const OutputPath entry(plan.directory);
  return entry.folder().below(entry.name());
}

Checkpoints::Checkpoints(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events)
    : parts_(parts),
      plan_(plan.checkpoints),
      directory_(checkpoint_folder(plan.checkpoints)),
      statistics_(plan.statistics),
      events_(events),
      calls_(parts.files != nullptr ? *parts.files : system_file_calls()) {
  if (is_on() && parts.transport.rank() == 0) remove_partial_checkpoints(directory_, calls_);
}

void Checkpoints::begin(const TrainingProgress& progress) {
  first_step_ = progress.steps;
  began_ = last_ = Clock::now();
  if (is_on() && plan_.every_seconds > 0) meet_from(first_step_ + kFirstMeeting);
}

bool Checkpoints::meet(const TrainingProgress& progress) {
  const Stopwatch stopwatch(seconds_);
  if (progress.steps == next_meeting_) look(progress.steps);
  return is_multiple(progress.steps) || is_due_;
}

void Checkpoints::save(const TrainingProgress& progress) {
  const Stopwatch stopwatch(seconds_);
  complete();
  start(progress, true);
  look(progress.steps);
}

bool Checkpoints::save_now(const TrainingProgress& progress, const std::string& ended) {
  const Stopwatch stopwatch(seconds_);
  complete();
  if (committed_step_ == progress.steps) return true;
  ended_ = ended;
  start(progress, false);
  complete();
  return committed_step_ == progress.steps;
}

void Checkpoints::start(const TrainingProgress& progress, bool copies) {
  step_ = progress.steps;
  phase_ = Phase::kWriting;
  last_ = Clock::now();
  patience_seconds_ = kFirstPatienceSeconds;
  finished_ = {};
  finished_.failure = parts_.transport.broadcast_text(why_lost_directory());
  if (!finished_.failure.empty()) {
    finished_.status = Status::kFailed;
    return;
  }
  const bool is_sent = lacks_access(plan_.ranks_without_access, parts_.transport.rank());
  since_average_ = steps_since_average(progress.steps);
  take_state(state_, parts_, progress, parts_.communicator.consensus(), copies && !is_sent);
  if (!plan_.ranks_without_access.empty()) send();
  if (!is_sent) start_to_write();
}

// Nothing if the number of the step tells it.
std::optional<std::int64_t> Checkpoints::steps_since_average(std::int64_t steps) const {
  if (parts_.average == nullptr) return {};
  const std::int64_t since = parts_.average->steps_since_move(steps);
  return since == parts_.average->usual_steps_since_move(steps) ? std::nullopt : std::optional(since);
}

void Checkpoints::start_to_write() {
  task_ = start_task("to write checkpoints", [this] {
    try {
      return Report{Status::kDone, write()};
    } catch (const std::exception& error) {
      return Report{Status::kFailed, {}, who() + error.what()};
    }
  });
}

// Begins a message that this rank sends to all; "" if there is one rank.
std::string Checkpoints::who() const {
  if (parts_.transport.size() == 1) return "";
  return "rank " + std::to_string(parts_.transport.rank()) + " on " + host_name() + ": ";
}

// Collective: ranks without access send their files, and all others wait.
void Checkpoints::send() {
  if (parts_.transport.rank() == 0) received_.emplace(directory_, step_, calls_);
  const auto write = [this](FileCalls& calls) {
    finished_ = {Status::kDone, write_checkpoint_file(rank_file_name(parts_.transport.rank()), state_.header(),
                                                      state_.values(), calls)};
  };
  send_files(parts_.transport, plan_.ranks_without_access, write, received_ ? &*received_ : nullptr);
}

void Checkpoints::require_directory() const {
  if (parts_.transport.rank() == 0 && events_.require_directory) events_.require_directory();
}

// On rank 0: why the directory is not the run's any more; "" if it is. Always "" on other ranks.
std::string Checkpoints::why_lost_directory() const {
  try {
    require_directory();
    return "";
  } catch (const Error& error) {
    return who() + error.what();
  }
}

StoredFile Checkpoints::write() {
  if (received_) received_->finish();
  make_directory(directory_, calls_);
  const OutputFolder partial = partial_folder(directory_, step_);
  make_directory(partial, calls_);
  return write_checkpoint_file(partial / rank_file_name(parts_.transport.rank()), state_.header(), state_.values(),
                               calls_);
}

void Checkpoints::complete() {
  while (phase_ != Phase::kIdle) {
    if (task_.valid()) task_.wait();
    look(step_);
  }
}

// Collective. Rank 0 tells all ranks the same verdict, so all draw the same conclusions.
void Checkpoints::look(std::int64_t steps) {
  std::vector<Report> all;  // on rank 0
  for (const std::string& text : parts_.transport.gather(pack(report(steps)))) all.push_back(unpack(text));
  const Report verdict = unpack(parts_.transport.broadcast_text(all.empty() ? "" : pack(verdict_of(all))));
  is_due_ = verdict.is_due;
  advance(verdict, all);
  const std::int64_t until = phase_ == Phase::kIdle ? verdict.steps_if_idle : verdict.steps_if_busy;
  next_meeting_ = 0;
  if (until > 0) meet_from(steps + until);
}

void Checkpoints::meet_from(std::int64_t steps) { next_meeting_ = parts_.communicator.next_meeting(steps); }

// The common status: busy if a rank is busy, else failed if one has failed, with the message of the first such rank.
// All else comes from rank 0's report.
Checkpoints::Report Checkpoints::verdict_of(const std::vector<Report>& all) {
  Report verdict = all[0];
  const auto busy = std::ranges::find(all, Status::kBusy, &Report::status);
  const auto failed = std::ranges::find(all, Status::kFailed, &Report::status);
  if (busy != all.end()) {
    verdict.status = Status::kBusy;
  } else if (failed != all.end()) {
    verdict.status = Status::kFailed;
    verdict.failure = failed->failure;
  }
  return verdict;
}

Checkpoints::Report Checkpoints::report(std::int64_t steps) {
  Report mine;
  if (task_.valid()) {
    const bool is_ready = task_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    mine = is_ready ? task_.get() : Report{Status::kBusy};
    if (is_ready && mine.status != Status::kIdle) finished_ = mine;
  } else if (phase_ != Phase::kIdle) {
    mine = finished_;
  }
  if (parts_.transport.rank() == 0) plan_meetings(steps, mine);
  return mine;
}

// Turns times into numbers of steps, by the mean step so far. Never plans many more steps than were timed.
void Checkpoints::plan_meetings(std::int64_t steps, Report& mine) {
  const auto now = Clock::now();
  const auto since = [&](Clock::time_point then) { return std::chrono::duration<double>(now - then).count(); };
  const double done = static_cast<double>(std::max<std::int64_t>(1, steps - first_step_));
  const double step_seconds = std::max(1e-6, since(began_) / done), most = 2 * done + kFirstMeeting;
  const auto steps_in = [&](double seconds) {
    return static_cast<std::int64_t>(std::clamp(seconds / step_seconds, 1.0, most));
  };
  mine.steps_if_busy = steps_in(patience_seconds_);
  patience_seconds_ *= 2;
  if (plan_.every_seconds <= 0) return;
  const double left = plan_.every_seconds - since(last_);
  mine.is_due = left <= 0;
  mine.steps_if_idle = steps_in(mine.is_due ? plan_.every_seconds : left);
}

// `all` is empty on ranks other than 0.
void Checkpoints::advance(const Report& verdict, const std::vector<Report>& all) {
  if (phase_ == Phase::kIdle || verdict.status == Status::kBusy) return;
  if (verdict.status == Status::kFailed) return fail(verdict.failure);
  if (phase_ == Phase::kWriting) return begin_commit(all);
  phase_ = Phase::kIdle;
  committed_step_ = step_;
  ++saved_;
  if (parts_.transport.rank() == 0 && events_.warning && !verdict.failure.empty()) events_.warning(verdict.failure);
}

void Checkpoints::begin_commit(const std::vector<Report>& all) {
  phase_ = Phase::kCommitting;
  finished_ = {};
  if (parts_.transport.rank() != 0) return;
  Manifest manifest{step_, state_.header().progress.samples, identity_of(parts_), plan_.notes};
  const bool is_of_first = statistics_ == NormStatistics::kLocal || parts_.communicator.consensus_is_first_worker();
  manifest.notes[kWorkers] = std::to_string(parts_.sampler.ranks());
  manifest.notes[kStatistics] = std::to_string(is_of_first ? 1 : parts_.sampler.ranks());
  if (since_average_) manifest.notes[kSinceAverage] = std::to_string(*since_average_);
  if (!ended_.empty()) manifest.notes[kEnded] = ended_;
  for (const Report& report : all) manifest.files.push_back(report.file);
  task_ = start_task("to write checkpoints", [this, manifest] {
    try {
      return Report{Status::kDone, {}, commit(manifest)};
    } catch (const std::exception& error) {
      return Report{Status::kFailed, {}, error.what()};
    }
  });
}

// Returns why the step records may not be on the disk; "" if they are.
std::string Checkpoints::commit(const Manifest& manifest) const {
  const std::string unflushed = events_.flush ? events_.flush() : "";
  require_directory();
  commit_checkpoint(directory_, manifest, calls_);
  if (saved_ == 0) flush_directory(std::filesystem::path(plan_.directory) / "..", calls_);
  remove_old_checkpoints(directory_, manifest.step, plan_.kept, plan_.keep_every, calls_);
  return unflushed;
}

void Checkpoints::fail(const std::string& why) {
  phase_ = Phase::kIdle;
  ++failed_;
  const std::string message = "the checkpoint of step " + std::to_string(step_) + " could not be written: " + why;
  const bool removes = parts_.transport.rank() == 0 && why_lost_directory().empty();
  if (removes) remove_tree(partial_folder(directory_, step_).entry(), calls_);
  if (plan_.is_required) throw AgreedError(ExitCode::kInputOutput, message);
  if (parts_.transport.rank() == 0 && events_.warning) {
    events_.warning(message + "; training goes on, and the next one is tried when it is due");
  }
}

std::string Checkpoints::pack(const Report& report) {
  std::ostringstream text;
  text << static_cast<int>(report.status) << ' ' << report.steps_if_busy << ' ' << report.steps_if_idle << ' '
       << report.is_due << ' ' << report.file.bytes << ' ' << report.file.hash.high << ' ' << report.file.hash.low
       << '\n'
       << report.file.name << '\n'
       << report.failure;
  return text.str();
}

Checkpoints::Report Checkpoints::unpack(const std::string& text) {
  Report report;
  std::istringstream words(text);
  int status = 0;
  words >> status >> report.steps_if_busy >> report.steps_if_idle >> report.is_due >> report.file.bytes >>
      report.file.hash.high >> report.file.hash.low;
  words.ignore();
  std::getline(words, report.file.name);
  std::getline(words, report.failure, '\0');
  report.status = static_cast<Status>(status);
  return report;
}

}  // namespace eave
