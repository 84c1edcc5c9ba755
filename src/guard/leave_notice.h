// Says, once for the job, what comes of it that a rank was asked to leave, where ranks do not leave after a step.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "guard/guard.h"

namespace eave {

class LeaveNotice final : public GuardTask {
 public:
  // `asked`: see LeaveTask. `say` is called on rank 0; where there is no channel, on any rank that is asked.
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
