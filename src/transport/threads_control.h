// Words between ranks that are threads of one process.
#pragma once

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "eave/transport.h"

namespace eave {

// The channel of one rank, and what has come for it.
class ThreadsControl final : public ControlChannel {
 public:
  // `all`, in rank order, with this one in it, stay where they are and outlive it.
  void connect(int rank, std::vector<ThreadsControl>& all);

  void post(int to, const ControlMessage& message) override;
  bool poll(ControlMessage& message, int& from) override;

 private:
  int rank_ = 0;
  std::vector<ThreadsControl>* all_ = nullptr;
  std::mutex mutex_;
  std::deque<std::pair<int, ControlMessage>> come_;  // from whom, and what
};

}  // namespace eave
