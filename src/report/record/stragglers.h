// Finds, from the records of all ranks, which ranks the other ranks waited for, and how long.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "eave/recorder.h"

namespace eave {

// Takes the records of every worker in the order of its steps, as rank 0 receives them.
//
// If ranks exchange together, all intervals are compared. Ranks wait only at exchanges, so in the interval of an
// exchange the rank that waited least was the last to arrive. If each rank goes at its own pace, ranks meet only at
// evaluations. Then only the last interval before each evaluation is compared, because it contains the wait for the
// slowest rank. If a rank has taken no step since the evaluation before, its wait is not known, and none is compared.
class Stragglers {
 public:
  Stragglers(int workers, bool exchange_together);

  void add(int rank, const std::vector<StepRecord>& records);  // ignores ranks that only keep a center
  // Call this at an evaluation, once all records up to it have been added.
  void meet();

  std::vector<RankTimes> times() const;
  std::int64_t intervals() const { return intervals_; }  // intervals compared so far

 private:
  struct Interval {
    double sum = 0, least = 0;  // seconds waited
    int last_rank = 0;          // the rank that waited least
    int ranks = 0;              // ranks whose record has been added
  };

  void compare(int rank, double waiting);
  void close_complete();

  const int workers_;
  const bool exchange_together_;
  std::vector<RankTimes> times_;
  std::vector<double> compared_waiting_;                   // of each rank
  std::vector<std::int64_t> told_;                         // number of intervals added, for each rank
  std::vector<std::optional<double>> waiting_at_the_end_;  // of each rank, in its last interval since they met
  std::deque<Interval> open_;  // intervals that some ranks have not reported yet; the first is number intervals_
  std::int64_t intervals_ = 0;
  double least_ = 0;  // sum of the shortest wait of each compared interval
};

// The text about waiting that is printed at the end of a run: a table of at most 8 ranks, those that others waited for
// longest. If no rank waited for more than 2 % of its time, it is one line. "" for one rank. `hosts` is the host of
// every rank.
std::string describe_stragglers(const Stragglers& stragglers, const std::vector<std::string>& hosts,
                                std::int64_t steps_per_interval);

}  // namespace eave
