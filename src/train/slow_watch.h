// Watches, while training goes on, for ranks that compute much longer than the others.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/thread_times.h"
#include "eave/trainer.h"
#include "train/slow_rank_rule.h"

namespace eave {

// Where ranks exchange together, each adds its times of a window to a small sum that runs behind the next steps, and
// nobody waits for it: it is looked at when it is there. Between two exchanges a fast rank has several under way.
// An exchange that comes behind it may have to wait for it. So ranks measure once, together where the first window
// ends, what such a sum takes, and let as many steps lie between two that it is at most 1 / 200 of them.
// Where each rank goes its own pace such a sum would hold up the operations behind it until the slowest rank came:
// there times are compared at evaluations alone, where the ranks meet anyway.
// The host's clock says nothing of a device that computes behind it: such a rank tells nothing.
class SlowWatch {
 public:
  // All outlive it. Made by the thread that computes.
  SlowWatch(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);

  // After each step, on all ranks; the seconds that it took without waiting. `whole`: its batch was no smaller than
  // most. Returns the seconds it blocked, where ranks measure together.
  double add(std::int64_t index, double computing, bool whole);
  void meet();  // collective, at an evaluation

 private:
  // [2 · rank], [2 · rank + 1]: its ComputingTimes.
  struct Sum {
    std::vector<float> values;
    Pending pending;
  };

  bool is_watching() const { return every_ > 0; }
  ComputingTimes take_window();
  std::vector<float> row(const ComputingTimes& mine) const;
  bool is_live() const { return parts_.traits.exchanges_together && every_ <= kMostBetween; }
  void send();
  double weigh();
  void receive();
  void judge(const std::vector<float>& values, std::int64_t steps);
  void judge(const std::vector<ComputingTimes>& window, std::int64_t steps);  // on rank 0; does nothing elsewhere

  const TrainingParts& parts_;
  const TrainingEvents& events_;
  // With more steps between two sums than that, times are compared at evaluations alone.
  static constexpr std::int64_t kMostBetween = 50;

  std::int64_t every_;  // steps of a window; 0: nothing is watched
  bool is_weighed_ = false;
  const bool knows_;  // what its steps take
  const ThreadDelay delay_;
  SlowRankRule rule_;
  double shortest_ = 0, sum_ = 0, delayed_ = 0;
  std::int64_t steps_ = 0, whole_steps_ = 0;  // in the window
  std::int64_t steps_done_ = 0;
  std::deque<Sum> sums_;  // under way
};

}  // namespace eave
