#include "transport/job/start_watch.h"

#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

#include "base/host.h"
#include "base/options/number_text.h"
#include "base/printable.h"

namespace eave {
namespace {

std::string describe_wait(const PromisedRanks& promised, std::chrono::milliseconds limit) {
  const int others = promised.ranks - 1;
  return "rank " + std::to_string(promised.rank) + " (host " + host_name() + ") has waited in MPI_Init for " +
         number_text(static_cast<double>(limit.count()) / 1000) + " s, for " + count_text(others, "other rank") + " (" +
         promised.variable + "): " + (others == 1 ? "it has not come" : "not all of them have come") +
         ", or cannot be reached. Look on each host whether eave runs there (ps -C eave), whether the script that "
         "starts "
         "it still does something else, and whether the hosts reach each other. This rank goes on waiting; Ctrl-C or "
         "scancel ends the job";
}

}  // namespace

StartWatch::StartWatch(const std::optional<PromisedRanks>& promised, std::chrono::milliseconds limit) {
  if (!promised || promised->ranks < 2) return;
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
  try {
    thread_ = std::thread([this, promised = *promised, limit] { watch(promised, limit); });
  } catch (const std::system_error&) {
    // No thread could be started: the rank waits without a warning.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StartWatch::~StartWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void StartWatch::watch(const PromisedRanks& promised, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, limit, [this] { return is_over_; })) return;
  lock.unlock();
  if (!speaks_for_host(promised, "start")) return;
  lock.lock();
  if (is_over_) return;
  std::fprintf(stderr, "eave: warning: %s\n", printable(describe_wait(promised, limit)).c_str());
}

}  // namespace eave
