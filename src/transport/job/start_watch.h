// A warning while a rank waits in MPI_Init for other ranks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "transport/job/launchers.h"

namespace eave {

// Watches MPI_Init, which returns when all ranks have called it, and which nothing can interrupt. If it does not return
// within `limit`, one rank of each host prints for which ranks it waits and where to look. All ranks go on waiting.
// Does nothing if no launcher promised several ranks. Its thread calls no MPI and takes no signals.
class StartWatch {
 public:
  StartWatch(const std::optional<PromisedRanks>& promised, std::chrono::milliseconds limit);
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;
  ~StartWatch();

 private:
  void watch(const PromisedRanks& promised, std::chrono::milliseconds limit);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace eave
