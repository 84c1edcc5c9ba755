// Finds, during training, ranks that compute much longer than the others.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/thread.h"
#include "eave/trainer.h"
#include "train/watch/slow_rank_rule.h"

namespace eave {

// If all ranks exchange together, each adds the times of its window to a small sum that runs behind the next steps. No
// rank waits for the sum; each looks at it when it has arrived. A fast rank may have several sums under way between two
// exchanges.
//
// An exchange queued behind such a sum may have to wait for it. So at the end of the first window the ranks measure
// together how long a sum takes. They then lengthen the window until the sum takes at most 1/200 of its steps.
//
// If each rank goes at its own pace, such a sum would hold up the operations behind it until the slowest rank came.
// Then times are compared at evaluations only, where the ranks meet anyway.
//
// The host's clock does not show how long a device computes in the background. Such a rank reports no times.
class SlowWatch {
 public:
  // All arguments outlive this object. Construct it on the thread that computes.
  SlowWatch(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);

  // Call after each step, on all ranks. `computing`: the seconds that the step took without waiting. `whole`: its batch
  // was no smaller than most. Returns the seconds for which this call blocked; above 0 only when the ranks measure
  // together.
  double add(std::int64_t index, double computing, bool whole);
  void meet();  // collective, at an evaluation

 private:
  // Values 2·rank and 2·rank + 1 are the ComputingTimes of that rank.
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
  void judge(const std::vector<ComputingTimes>& window, std::int64_t steps);  // on rank 0; does nothing on other ranks

  const TrainingParts& parts_;
  const TrainingEvents& events_;
  // If the window would have to be longer than this many steps, times are compared at evaluations only.
  static constexpr std::int64_t kMostBetween = 50;

  std::int64_t every_;  // steps of a window; 0: no watch
  bool is_weighed_ = false;
  const bool knows_;  // whether this rank's host can time its steps
  const ThreadDelay delay_;
  SlowRankRule rule_;
  double shortest_ = 0, sum_ = 0, delayed_ = 0;
  std::int64_t steps_ = 0, whole_steps_ = 0;  // so far in this window
  std::int64_t steps_done_ = 0;
  std::deque<Sum> sums_;  // under way
};

}  // namespace eave
