// Control messages between ranks that are threads of one process.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "eave/transport.h"

namespace eave {

// The kind of a message that reports that its sender is lost: that rank answers nobody any more. Over MPI there is no
// such message, because ranks do not outlive one that is lost.
inline constexpr std::int64_t kRankIsLost = -1;

// The channel of one rank, with the messages that have come for it.
class ThreadsControl final : public ControlChannel {
 public:
  // `all` has the channels of all ranks in rank order, this one included. It outlives this and does not move.
  void connect(int rank, std::vector<ThreadsControl>& all);

  void post(int to, const ControlMessage& message) override;
  bool poll(ControlMessage& message, int& from) override;
  // Puts a message of kind kRankIsLost from `rank` into this channel.
  void tell_loss(int rank);

 private:
  int rank_ = 0;
  std::vector<ThreadsControl>* all_ = nullptr;
  std::mutex mutex_;
  std::deque<std::pair<int, ControlMessage>> come_;  // sender and message
};

}  // namespace eave
