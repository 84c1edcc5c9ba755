// The job that this process is one rank of, for a program with a loop of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "c/job_guard.h"
#include "eave/transport.h"

namespace eave {

// TransportKind::run keeps its caller until the job is through, and one thread calls a Transport. So a thread of its
// own is both, and work comes to it one piece after another.
class Session {
 public:
  // Collective. "auto", or a transport whose ranks are processes. Throws Error(kUsage) for another. A rank waits for
  // another as long as EAVE_LIMIT_STEP says (10min).
  explicit Session(const std::string& transport);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Blocks until `work` is done; rethrows what escaped it. `call`: of work that all ranks do in the same order.
  void run(const std::optional<InterfaceCall>& call, const std::function<void(Transport&)>& work);
  // Collective. Nothing may follow.
  void close();
  // Ends all ranks with this code. Not collective; any thread. Returns only where this is the only rank.
  void abort(ExitCode code) noexcept;

  // Within `work`, on all ranks: how long a rank waits for another from now on.
  void set_limit(const WatchdogLimit& limit);

  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  void attend(Transport& transport);
  std::exception_ptr carry_out(Transport& transport);
  void take_leave(Transport& transport);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(Transport&)>* work_ = nullptr;  // to be done
  std::optional<InterfaceCall> call_;                      // that it is
  WatchdogLimit limit_;
  std::int64_t guards_ = 0;          // so far
  std::unique_ptr<JobGuard> guard_;  // of the session's thread
  Transport* transport_ = nullptr;
  std::exception_ptr failure_;  // what escaped the last one
  bool is_open_ = false, is_closing_ = false, has_ended_ = false;
  int rank_ = -1, size_ = 0;
  std::thread thread_;
  int process_ = 0;  // its number: a fork of it has no such thread
};

}  // namespace eave
