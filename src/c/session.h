// This process's rank of a job, for a program with its own training loop.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "c/gpu_link.h"
#include "c/job_guard.h"
#include "c/leaving.h"
#include "c/matched_transport.h"
#include "eave/transport.h"

namespace eave {

// TransportKind::run returns only when the job is over. So a Session has a thread that calls it. That thread or the
// caller's does one piece of work after another, never both at a time, as a Transport is for one thread at a time.
class Session {
 public:
  // Collective. `transport`: "auto", or a transport whose ranks are processes; for others it throws Error(kUsage). A
  // rank waits for another for at most the time in EAVE_LIMIT_STEP (default 10min).
  explicit Session(const std::string& transport);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Blocks until `work` is done. Rethrows what escaped it. `call`: set if all ranks do this work in the same order.
  void run(const std::optional<InterfaceCall>& call, const std::function<void(Transport&)>& work);
  // The same in the thread that calls it, so that no time goes into waking another thread. The work must not use a GPU,
  // whose device is a property of the session's thread.
  void run_here(const std::optional<InterfaceCall>& call, const std::function<void(Transport&)>& work);
  // Collective. No work may follow.
  void close();
  // Ends all ranks with this code. Not collective; any thread may call it. Returns only if this is the only rank.
  void abort(ExitCode code) noexcept;
  // If this rank ends all ranks later, abort() tells rank 0 first that this failure was the reason. nullopt: it does
  // not.
  void note_failure(std::optional<Error> error) { noted_ = std::move(error); }

  // Called within `work`, on all ranks: sets how long a rank waits for another from now on.
  void set_limit(const WatchdogLimit& limit);

  // Called within `work`, while averagers take steps. It belongs to the thread that does the work.
  StepsUntilLeaving& leaving() { return *leaving_; }
  bool is_leaving() const { return is_open_ && leaving_->is_leaving(); }  // this rank ends now, as all ranks do

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  // the number of ranks of this host before this one
  // The facts of the job that an averager needs. The Session outlives its averagers, and prints a warning that several
  // of them have once.
  AveragerJob averager_job();

 private:
  void attend(Transport& ranks);
  FailureReport* failures() { return failures_ ? &*failures_ : nullptr; }
  void refuse_fork() const;
  void require_open() const;
  std::exception_ptr carry_out(MatchedTransport& transport, const std::function<void(Transport&)>& work);
  void take_leave(MatchedTransport& transport);

  std::mutex mutex_;  // the caller's thread holds it while it works
  std::condition_variable changed_;
  const std::function<void(Transport&)>* work_ = nullptr;  // not done yet
  std::optional<InterfaceCall> call_;                      // the call that the work is
  WatchdogLimit limit_;
  std::int64_t guards_ = 0;  // made so far
  std::optional<LeaveTask> leave_;
  std::optional<StepsUntilLeaving> leaving_;
  std::optional<FailureReport> failures_;  // nullopt: there is no control channel
  std::optional<Error> noted_;             // of this rank
  std::unique_ptr<JobGuard> guard_;        // used by the thread that works
  MatchedTransport* transport_ = nullptr;
  std::exception_ptr failure_;  // what escaped the last work
  bool is_open_ = false, is_closing_ = false, has_ended_ = false;
  int rank_ = -1, size_ = 0, local_rank_ = -1;
  const std::string asked_for_;  // the transport, as the program named it
  bool tries_nccl_ = false;
  std::set<std::string> warnings_;                  // printed so far; used by the thread that works
  std::shared_ptr<const CallRecord> device_calls_;  // of the averager opened last; nullptr: none; used by that thread
  LentArrays lent_;                                 // of the transport; used by the thread that works
  std::thread thread_;
  int process_ = 0;  // id of the process that has the thread; a fork has none
};

}  // namespace eave
