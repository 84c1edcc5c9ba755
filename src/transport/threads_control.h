// Words between ranks that are threads of one process.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "eave/transport.h"

namespace eave {

// The kind of a message that comes from a rank that is lost: it answers nobody any more. (Over MPI, ranks do not
// outlive one that is lost.)
inline constexpr std::int64_t kRankIsLost = -1;

// The channel of one rank, and what has come for it.
class ThreadsControl final : public ControlChannel {
 public:
  // `all`, in rank order, with this one in it, stay where they are and outlive it.
  void connect(int rank, std::vector<ThreadsControl>& all);

  void post(int to, const ControlMessage& message) override;
  bool poll(ControlMessage& message, int& from) override;
  void tell_loss(int rank);

 private:
  int rank_ = 0;
  std::vector<ThreadsControl>* all_ = nullptr;
  std::mutex mutex_;
  std::deque<std::pair<int, ControlMessage>> come_;  // from whom, and what
};

}  // namespace eave
