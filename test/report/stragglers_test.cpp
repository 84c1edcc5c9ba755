// Tests, on crafted records, which rank waited for which.
#include "report/record/stragglers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/expectations.h"

namespace eave {
namespace {

// Returns one record for each number of seconds waited. Each step takes 10 s in all.
std::vector<StepRecord> waits(const std::vector<double>& seconds) {
  std::vector<StepRecord> records(seconds.size());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    records[i].step = static_cast<std::int64_t>(i) + 1;
    records[i].waiting = seconds[i];
    records[i].computing = 10 - seconds[i];
  }
  return records;
}

std::vector<std::string> hosts(std::size_t ranks) {
  std::vector<std::string> names;
  for (std::size_t rank = 0; rank < ranks; ++rank) names.push_back("node" + std::to_string(rank));
  return names;
}

TEST(Stragglers, are_those_that_waited_least_and_the_others_waited_the_rest_for_them) {
  Stragglers stragglers(3, true);
  stragglers.add(0, waits({5, 4, 1}));
  stragglers.add(1, waits({1, 1, 7}));
  EXPECT_EQ(stragglers.intervals(), 0) << "rank 2 has not told";
  stragglers.add(2, waits({6, 3, 2}));
  ASSERT_EQ(stragglers.intervals(), 3);
  const std::vector<RankTimes> times = stragglers.times();
  EXPECT_EQ(times[1].times_waited_for, 2);
  EXPECT_EQ(times[1].seconds_waited_for, 4 + 5 + 3 + 2);
  EXPECT_EQ(times[0].times_waited_for, 1);
  EXPECT_EQ(times[0].seconds_waited_for, 6 + 1);
  EXPECT_EQ(times[2].times_waited_for, 0);
  EXPECT_EQ(times[0].waiting_for_ranks, 4 + 3);
  EXPECT_EQ(times[1].waiting_for_ranks, 6);
  EXPECT_EQ(times[2].waiting_for_ranks, 5 + 2 + 1);
  EXPECT_EQ(times[0].waiting, 10);
  EXPECT_EQ(times[0].computing, 20);
}

TEST(Stragglers, are_the_same_whatever_the_order_in_which_ranks_tell) {
  Stragglers at_once(2, true), by_parts(2, true);
  at_once.add(0, waits({0, 3, 0, 4}));
  at_once.add(1, waits({2, 0, 0, 1}));
  by_parts.add(1, waits({2}));
  by_parts.add(0, waits({0, 3, 0}));
  by_parts.add(1, waits({0, 0, 1}));
  by_parts.add(0, waits({4}));
  for (const Stragglers* stragglers : {&at_once, &by_parts}) {
    EXPECT_EQ(stragglers->times()[0].times_waited_for, 1);
    EXPECT_EQ(stragglers->times()[0].seconds_waited_for, 2);
    EXPECT_EQ(stragglers->times()[1].times_waited_for, 2) << "nobody waited in the third interval";
    EXPECT_EQ(stragglers->times()[1].seconds_waited_for, 6);
  }
}

// Between meetings such ranks wait for a center, not for each other, and the same step is not at the same time.
TEST(Stragglers, of_ranks_that_go_their_own_pace_are_compared_where_they_meet_alone) {
  Stragglers stragglers(2, false);
  stragglers.add(0, waits({5, 5, 8}));
  stragglers.add(1, waits({1, 0.5}));
  stragglers.meet();
  EXPECT_EQ(stragglers.intervals(), 1);
  EXPECT_EQ(stragglers.times()[1].seconds_waited_for, 7.5);
  EXPECT_EQ(stragglers.times()[0].waiting_for_ranks, 7.5);
  EXPECT_EQ(stragglers.times()[0].waiting, 18);
  stragglers.add(1, waits({1}));
  stragglers.meet();
  EXPECT_EQ(stragglers.intervals(), 1) << "rank 0 has taken no step since";
  EXPECT_EQ(stragglers.times()[0].waiting_for_ranks, 7.5);
}

TEST(StragglerTable, names_the_rank_that_was_waited_for_most) {
  Stragglers stragglers(3, true);
  stragglers.add(0, waits({5, 4, 1}));
  stragglers.add(1, waits({1, 1, 7}));
  stragglers.add(2, waits({6, 3, 2}));
  const std::string text = describe_stragglers(stragglers, hosts(3), 1);
  expect_parts(text, {"longest for rank 1 (node1): 14.00 s of all 21.00 s; it was the last in 2 of 3 waits"});
  EXPECT_EQ(text.find("--log-every"), std::string::npos) << text;
  expect_parts(describe_stragglers(stragglers, hosts(3), 10), {"intervals of 10 steps (--log-every)"});
}

TEST(StragglerTable, is_one_line_where_nobody_waited_and_nothing_for_one_rank) {
  Stragglers quick(2, true);
  quick.add(0, waits({0.1, 0.1}));
  quick.add(1, waits({0.2, 0}));
  EXPECT_EQ(describe_stragglers(quick, hosts(2), 1), "\nno rank waited for more than 1.0 % of its time\n");
  Stragglers alone(1, true);
  alone.add(0, waits({5}));
  EXPECT_EQ(describe_stragglers(alone, hosts(1), 1), "");
}

TEST(StragglerTable, of_many_ranks_has_the_8_worst) {
  Stragglers stragglers(64, true);
  for (int rank = 0; rank < 64; ++rank) stragglers.add(rank, waits({rank == 50 ? 0.0 : 4.0, rank == 7 ? 1.0 : 2.0}));
  const std::string text = describe_stragglers(stragglers, hosts(64), 1);
  expect_parts(text, {"\n  50   node50 ", "\n   7   node7 ", "and 56 more ranks"});
  EXPECT_LE(std::ranges::count(text, '\n'), 12) << text;
}

}  // namespace
}  // namespace eave
