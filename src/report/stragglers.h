// Who waited for whom, and how long: from the records of all ranks.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "eave/recorder.h"

namespace eave {

// Takes the records of every worker, in the order of its steps, as rank 0 is told of them.
//
// Where ranks exchange together, all intervals are compared: between two exchanges nobody waits, and in the interval of
// an exchange the one that came last waited least. Where each goes its own pace they meet at evaluations only: there
// the last interval before each is compared, which holds the wait for the slowest.
class Stragglers {
 public:
  Stragglers(int workers, bool exchange_together);

  void add(int rank, const std::vector<StepRecord>& records);  // those of ranks that keep a center are left out
  void meet();                                                 // an evaluation: all records up to it have been added

  std::vector<RankTimes> times() const;
  std::int64_t intervals() const { return intervals_; }  // that were compared

 private:
  struct Interval {
    double sum = 0, least = 0;  // seconds waited
    int last_rank = 0;          // that waited least
    int ranks = 0;              // that have told
  };

  void compare(int rank, double waiting);
  void close_complete();

  const int workers_;
  const bool exchange_together_;
  std::vector<RankTimes> times_;
  std::vector<double> compared_waiting_;    // of each rank
  std::vector<std::int64_t> told_;          // intervals, of each rank
  std::vector<double> waiting_at_the_end_;  // in the last interval of each rank
  std::deque<Interval> open_;               // not told by all ranks yet; the first is number intervals_
  std::int64_t intervals_ = 0;
  double least_ = 0;  // sum over the intervals that were compared
};

// What the end of a run says: a table of the ranks that were waited for most, at most 8, or one line where nobody
// waited for more than 2 % of its time. "" for one rank. `hosts`: of every rank.
std::string describe_stragglers(const Stragglers& stragglers, const std::vector<std::string>& hosts,
                                std::int64_t steps_per_interval);

}  // namespace eave
