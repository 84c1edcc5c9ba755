#include "app/main/launch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>
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

// For ranks that fail alike and cannot meet. One of each host prints the failure; it calls itself `printed_rank`, and
// with `printed_ranks` 1 does not say which rank it is. A launcher may send SIGTERM to all once one has ended. So each
// waits until the others are here, and ignores SIGTERM, which would change its exit code.
int refuse_apart(const PromisedRanks& promised, const Failure& failure, int printed_rank, int printed_ranks) {
  const auto end = std::chrono::steady_clock::now() + kOthersNeed;
  std::signal(SIGTERM, SIG_IGN);
  if (speaks_for_host(promised)) print_failure(failure, printed_rank, printed_ranks);
  std::this_thread::sleep_until(end);
  return static_cast<int>(failure.code);
}

// Limits the time in which ranks meet to end together. If some never come, as when a script calls eave on one rank
// alone, the ranks that are here end without them. MPI_Init may also need longer than this, and then all do so. Rank 0
// is the first to print, and its end makes the launcher end the others.
class MeetingLimit {
 public:
  explicit MeetingLimit(const std::exception_ptr& failure) {
    const std::optional<PromisedRanks> promised = started_by_launcher() ? promised_ranks() : std::nullopt;
    if (!promised) return;
    thread_ = start_thread("to end without the others",
                           [this, failure, promised] { watch(*promised, describe_failure(failure)); });
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
  void watch(const PromisedRanks& promised, const Failure& failure) {
    const std::chrono::seconds patience(promised.rank == 0 ? 5 : 7);
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, patience, [this] { return have_met_; })) return;
    std::_Exit(refuse_apart(promised, failure, promised.rank, 2));
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
  if (const auto lost = lost_ranks(transport))
    return refuse_apart(*lost, {ExitCode::kPeerLost, describe_lost(*lost, 1), true}, 0, 1);
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
