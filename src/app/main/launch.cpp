#include "app/main/launch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

#include "app/main/rank_consistency.h"
#include "base/printable.h"
#include "base/thread.h"
#include "eave/agreement.h"
#include "eave/job.h"
#include "transport/core/failure.h"
#include "transport/job/launchers.h"

namespace eave {
namespace {

constexpr std::chrono::milliseconds kOthersNeed{1000};  // time for other ranks to get as far as this one

// Ends ranks that cannot find each other. Each would take itself for the only rank, and all would write the same files.
// A launcher may send SIGTERM to all once one has ended. So each waits until the others are here, and ignores SIGTERM,
// which would change its exit code.
int refuse_lost_ranks(const PromisedRanks& lost) {
  const auto end = std::chrono::steady_clock::now() + kOthersNeed;
  std::signal(SIGTERM, SIG_IGN);
  if (speaks_for_host(lost)) print_failure({ExitCode::kPeerLost, describe_lost(lost, 1), true}, 0, 1);
  std::this_thread::sleep_until(end);
  return static_cast<int>(ExitCode::kPeerLost);
}

// Limits the time in which ranks meet to end together. If the others never come, as when a script calls eave on one
// rank alone, this rank prints the error itself and ends.
class MeetingLimit {
 public:
  explicit MeetingLimit(const std::exception_ptr& failure) {
    if (!started_by_launcher()) return;
    thread_ = start_thread("to end without the others", [this, failure] { watch(describe_failure(failure)); });
  }
  MeetingLimit(const MeetingLimit&) = delete;
  MeetingLimit& operator=(const MeetingLimit&) = delete;
  ~MeetingLimit() {
    have_met();
    if (thread_.joinable()) thread_.join();
  }
  void have_met() {
    const std::lock_guard lock(mutex_);
    have_met_ = true;
    changed_.notify_one();
  }

 private:
  void watch(const Failure& failure) {
    constexpr std::chrono::seconds kPatience{5};
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kPatience, [this] { return have_met_; })) return;
    print_failure(failure, rank_by_launcher(), 2);
    std::_Exit(static_cast<int>(failure.code));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool have_met_ = false;
  std::thread thread_;
};

const TransportKind& loopback() {
  return *std::ranges::find(transport_kinds(), std::string("loopback"), &TransportKind::name);
}

bool asks_for_help(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

}  // namespace

int run_ranks(const std::string& transport, int ranks, const std::function<void(Transport&)>& body) {
  if (const auto lost = lost_ranks(transport)) return refuse_lost_ranks(*lost);
  const std::vector<TransportKind>& kinds = transport_kinds();
  const auto find = [&](const std::string& name) {
    return std::find_if(kinds.begin(), kinds.end(), [&](const TransportKind& kind) { return kind.name == name; });
  };
  auto kind = find(resolve_transport(transport));
  if (kind == kinds.end()) {
    return loopback().run(1, [](Transport&) {
      throw Error(ExitCode::kPeerLost,
                  "started by an MPI launcher, but this eave was built without MPI; install "
                  "libopenmpi-dev and build again, or run without a launcher");
    });
  }
  return kind->run(ranks, body);
}

bool starts_ranks(const std::string& transport) {
  return std::ranges::any_of(transport_kinds(),
                             [&](const auto& kind) { return kind.starts_ranks && kind.name == transport; });
}

void refuse_launcher(const std::string& transport) {
  const auto is_launched = [&](const auto& kind) { return kind.is_launched && kind.name == transport; };
  if (transport == "auto" || std::ranges::any_of(transport_kinds(), is_launched) || !started_by_launcher()) return;
  throw Error(ExitCode::kUsage, "--transport " + transport +
                                    " under an MPI launcher: each of its ranks would run by itself; leave out "
                                    "--transport, or start eave without the launcher");
}

int run_once(const std::function<void()>& action) {
  if (rank_by_launcher() != 0) return 0;
  return loopback().run(1, [&](Transport&) { action(); });
}

int refuse_once(const std::exception_ptr& failure) {
  const auto rethrow = [&] { std::rethrow_exception(failure); };
  if (rank_by_launcher() == 0) return run_once(rethrow);
  // When the first process ends, a launcher may kill all others, also the one that prints the message.
  std::this_thread::sleep_for(kOthersNeed);
  return static_cast<int>(describe_failure(failure).code);
}

int refuse_to_run(const std::exception_ptr& failure) {
  MeetingLimit limit(failure);
  return run_ranks("auto", 0, [&](Transport& transport) {
    limit.have_met();
    require_same_start(transport, {});
    agree(transport, [&] { std::rethrow_exception(failure); });
  });
}

void print_warning(const std::string& text) {
  if (!text.empty()) std::fprintf(stderr, "eave: warning: %s\n", printable(text).c_str());
}

namespace {

// The common part of run_command and run_command_once: help, or reading the words, then `run`.
int read_and_run(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                 int (*refuse)(const std::exception_ptr&), const std::function<int()>& run) {
  if (asks_for_help(words)) return run_once([&] { std::fputs(help.c_str(), stdout); });
  try {
    read();
  } catch (const Error&) {
    return refuse(std::current_exception());
  }
  return run();
}

}  // namespace

int run_command(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                const std::function<int()>& run) {
  return read_and_run(words, help, read, refuse_to_run, run);
}

int run_command_once(const std::vector<std::string>& words, const std::string& help, const std::function<void()>& read,
                     const std::function<void()>& action) {
  return read_and_run(words, help, read, refuse_once, [&] { return run_once(action); });
}

}  // namespace eave
