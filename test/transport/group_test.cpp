// Sums among a group of some ranks.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "test/allocations.h"
#include "test/transport/numbers.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class GroupContract : public testing::TestWithParam<Ranks> {};

// The ranks whose bits are set in `mask`.
std::vector<int> group_of(unsigned mask) {
  std::vector<int> ranks;
  for (int rank = 0; mask >> rank; ++rank)
    if (mask >> rank & 1) ranks.push_back(rank);
  return ranks;
}

bool contains(const std::vector<int>& group, int rank) { return std::ranges::find(group, rank) != group.end(); }

TEST_P(GroupContract, sums_in_rank_order_among_every_subset) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (unsigned mask = 1; mask < 1u << transport.size(); ++mask) {
      const std::vector<int> group = group_of(mask);
      if (!contains(group, transport.rank())) continue;
      for (std::size_t count : {0, 1, 2, 4097, 200003}) {
        std::vector<float> values = uneven_numbers(transport.rank(), count);
        transport.all_reduce_sum(values, group).wait();
        EXPECT_TRUE(same_bits(values, sum_in_order(group, count))) << count << " values, group " << mask;
      }
    }
  });
}

TEST_P(GroupContract, that_is_all_ranks_sums_as_without_a_group) {
  on_ranks(GetParam(), [](Transport& transport) {
    const std::vector<int> all = all_ranks(transport.size());
    std::vector<float> a = uneven_numbers(transport.rank(), 5000), b = a;
    transport.all_reduce_sum(a).wait();
    transport.all_reduce_sum(b, all).wait();
    EXPECT_TRUE(same_bits(a, b));
  });
}

TEST_P(GroupContract, does_not_wait_for_another) {
  on_ranks(GetParam(), [](Transport& transport) {
    const int p = transport.size();
    if (p < 2) return;
    std::vector<int> lower, upper;
    for (int rank = 0; rank < p; ++rank) (rank < p / 2 ? lower : upper).push_back(rank);
    transport.all_gather("start");
    const auto start = Clock::now();
    if (transport.rank() == p - 1) std::this_thread::sleep_for(1500ms);
    std::vector<float> values(1000, 1.0f);
    const std::vector<int>& mine = contains(lower, transport.rank()) ? lower : upper;
    for (int repeat = 0; repeat < 10; ++repeat) transport.all_reduce_sum(values, mine).wait();
    if (&mine == &lower) {
      EXPECT_LT(Clock::now() - start, 1s) << "the other group's last rank is 1.5 s late";
    }
    EXPECT_EQ(values.front(), std::pow(static_cast<float>(mine.size()), 10.0f));
  });
}

// If a message went to the wrong sum, some later sum would be wrong.
TEST_P(GroupContract, overlaps_with_others_in_any_common_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    RandomStream random({.seed = 11}, 0);  // the same on all ranks
    std::vector<std::vector<int>> groups;
    std::vector<std::vector<float>> values;
    std::vector<Pending> pending;
    groups.reserve(200);
    for (int call = 0; call < 200; ++call) {
      groups.push_back(group_of(1 + static_cast<unsigned>(random.below((1u << transport.size()) - 1))));
      values.emplace_back(1 + random.below(3000), static_cast<float>(call + transport.rank()));
      if (!contains(groups.back(), transport.rank())) continue;
      pending.push_back(transport.all_reduce_sum(values.back(), groups.back()));
    }
    for (Pending& each : pending) each.wait();
    for (std::size_t call = 0; call < groups.size(); ++call) {
      if (!contains(groups[call], transport.rank())) continue;
      float sum = 0;
      for (int rank : groups[call]) sum += static_cast<float>(call) + static_cast<float>(rank);
      EXPECT_EQ(values[call], std::vector<float>(values[call].size(), sum));
    }
  });
}

TEST_P(GroupContract, that_is_wrong_is_refused) {
  on_ranks(GetParam(), [](Transport& transport) {
    const int me = transport.rank(), p = transport.size();
    std::vector<float> values(10);
    for (const std::vector<int>& wrong :
         {std::vector{me, me}, {me, p}, {-1, me}, {me + 1}, {me, me - 1}, {me + 1, me}, {(me + 1) % p + p}})
      EXPECT_THROW(transport.all_reduce_sum(values, wrong), Error);
    transport.all_reduce_sum(values).wait();  // still works: the refused calls sent nothing
  });
}

TEST_P(GroupContract, allocates_nothing_after_the_first_sums) {
  on_ranks(GetParam(), [](Transport& transport) {
    std::vector<int> group;
    for (int rank = transport.rank() % 2; rank < transport.size(); rank += 2) group.push_back(rank);
    std::vector<float> values(100000);
    for (int step = 0; step < 3; ++step) transport.all_reduce_sum(values, group).wait();
    transport.all_reduce_sum(values).wait();
    transport.all_reduce_sum(values).wait();
    const long before = allocations();
    transport.all_reduce_sum(values).wait();
    for (int step = 0; step < 50; ++step) transport.all_reduce_sum(values, group).wait();
    transport.all_reduce_sum(values).wait();
    const long after = allocations();
    transport.all_reduce_sum(values).wait();  // keeps each rank here until all ranks have read the counter
    EXPECT_EQ(after - before, 0);
  });
}

INSTANTIATE_TEST_SUITE_P(On, GroupContract, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
