// Limits for the calls that begin and end a job, which wait for all ranks and for the launcher.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

#include "transport/job/launchers.h"

namespace eave {

// Watches MPI_Init, which returns when all ranks have called it, and which nothing can interrupt. If it does not return
// within `limit`, one rank of each host prints for which ranks it waits and where to look. All ranks go on waiting.
// Does nothing if no launcher promised several ranks. Its thread calls no MPI and takes no signals.
class StartTimeout {
 public:
  StartTimeout(const std::optional<PromisedRanks>& promised, std::chrono::milliseconds limit);

 private:
  std::jthread thread_;
};

// Watches the last calls of a rank, which wait for other ranks and for the launcher, when no watchdog runs any more.
// The job's work is done by then. If such a call does not return within `limit`, a thread prints which one and ends the
// process. It exits with the job's code, or with kPeerLost if that code is 0. Then the launcher ends the other ranks.
class EndTimeout {
 public:
  // `rank`: if several ranks hang, they print one after another in rank order. `code`: the job's exit code.
  EndTimeout(int rank, int code, std::chrono::milliseconds limit = std::chrono::minutes(1));

  void enter(const char* call) { call_ = call; }

 private:
  void watch(const std::stop_token& stop);

  const int rank_, code_;
  const std::chrono::milliseconds limit_;
  std::atomic<const char*> call_ = "";
  std::jthread thread_;
};

}  // namespace eave
