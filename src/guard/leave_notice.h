// For methods whose ranks do not leave after a step: prints once per job what happens after a rank was asked to leave.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "guard/guard.h"

namespace eave {

class LeaveNotice final : public GuardTask {
 public:
  // `asked`: as in LeaveTask. `say` is called on rank 0. If there is no channel, it is called on every rank that is
  // asked.
  LeaveNotice(ControlChannel* channel, int rank, const std::atomic<bool>& asked, std::function<void()> say)
      : channel_(channel), rank_(rank), asked_(asked), say_(std::move(say)) {}

  void look(double seconds) override;
  bool take(int from, const ControlMessage& message) override;

 private:
  void say_once();

  ControlChannel* const channel_;
  const int rank_;
  const std::atomic<bool>& asked_;
  const std::function<void()> say_;
  bool has_seen_ = false, has_said_ = false;
};

}  // namespace eave
