// MpiWire: a sum that is sent in many small parts has the same bits as one sent in few.
#include <gtest/gtest.h>

#include <algorithm>

#include "eave/random.h"
#include "test/mpi/own_communicator.h"
#include "test/transport/numbers.h"
#include "transport/core/background_transport.h"

namespace eave {
namespace {

class Parts : public OwnCommunicator {
 protected:
  std::vector<float> numbers(int rank, std::size_t count) {
    std::vector<float> values(count);
    RandomStream random({.seed = 3}, static_cast<std::uint64_t>(rank));
    for (float& value : values) value = random.normal();
    return values;
  }
};

TEST_F(Parts, of_any_length_give_the_same_sums) {
  for (std::size_t count : {1, 2, 8, 9, 1000, 4096, 10007}) {
    std::vector<float> expected = numbers(rank_, count);
    MpiWire(communicator_).all_reduce_sum(expected);
    for (std::size_t part : {1, 2, 7, 64, 1000}) {
      std::vector<float> values = numbers(rank_, count);
      MpiWire(communicator_, {.part = part}).all_reduce_sum(values);
      EXPECT_EQ(values, expected) << count << " values in parts of " << part;
    }
  }
}

TEST_F(Parts, of_any_length_are_broadcast_whole) {
  for (std::size_t count : {1, 9, 1000, 10007})
    for (std::size_t part : {1, 7, 64, 1000})
      for (int root = 0; root < size_; ++root) {
        std::vector<float> values = numbers(rank_, count);
        MpiWire(communicator_, {.part = part}).broadcast(values, root);
        EXPECT_EQ(values, numbers(root, count)) << count << " values in parts of " << part;
      }
}

// In lent memory of a single host, sums are added up in place. They must have the same bits.
TEST_F(Parts, of_lent_memory_give_the_same_sums) {
  const std::vector<int> one_host(static_cast<std::size_t>(size_), 7);
  MpiWire wire(communicator_, {.hosts = one_host});
  const Slice first = wire.lend(20000), second = wire.lend(5000);
  if (size_ == 1) {
    EXPECT_TRUE(first.empty());
    return;
  }
  ASSERT_EQ(first.size(), 20000u);
  ASSERT_EQ(second.size(), 5000u);
  EXPECT_EQ(std::ranges::count(first, 0.0f), 20000);
  EXPECT_NEAR(static_cast<double>(wire.bytes_of_others()), 25000.0 * 4 * (size_ - 1) / size_, 4.0 * 2 * size_);
  for (const Slice values : {first, second.subspan(7, 4000), first.subspan(9000), second, first.subspan(0, 1)}) {
    std::vector<float> expected = numbers(rank_, values.size());
    std::ranges::copy(expected, values.begin());
    MpiWire(communicator_).all_reduce_sum(expected);
    wire.all_reduce_sum(values);
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), expected) << values.size();
    std::vector<float> others = numbers(rank_, 3000), expected_others = others;
    MpiWire(communicator_).all_reduce_sum(expected_others);
    wire.all_reduce_sum(others);
    EXPECT_EQ(others, expected_others);
  }
}

TEST_F(Parts, are_not_lent_where_there_are_several_hosts) {
  const std::vector<int> hosts = all_ranks(size_);
  MpiWire wire(communicator_, {.hosts = hosts});
  EXPECT_TRUE(wire.lend(1000).empty());
  EXPECT_EQ(wire.bytes_of_others(), 0u);
}

// The hosts of ranks 0 to `size` - 1, as different launchers place ranks.
std::vector<std::vector<int>> placements(int size) {
  if (size == 2) return {{0, 0}, {1, 0}};
  if (size == 3) return {{0, 0, 1}, {5, 2, 5}, {1, 0, 0}, {1, 1, 1}};
  if (size == 4)
    return {{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {3, 3, 3, 1}, {2, 1, 1, 1}, {0, 0, 1, 2}, {0, 0, 0, 0}};
  return {};
}

// The expected sum: within each host in rank order, then over the hosts in the order of their lowest ranks.
std::vector<float> sum_by_host(const std::vector<int>& ranks, const std::vector<int>& hosts, std::size_t count) {
  std::vector<std::vector<int>> of_hosts;
  std::vector<int> names;
  for (int rank : ranks) {
    const int name = hosts[static_cast<std::size_t>(rank)];
    const auto known = std::ranges::find(names, name) - names.begin();
    if (known == std::ssize(names)) names.push_back(name), of_hosts.emplace_back();
    of_hosts[static_cast<std::size_t>(known)].push_back(rank);
  }
  std::vector<float> sum = sum_in_order(of_hosts.front(), count);
  for (std::size_t host = 1; host < of_hosts.size(); ++host) {
    const std::vector<float> other = sum_in_order(of_hosts[host], count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += other[i];
  }
  return sum;
}

TEST_F(Parts, add_up_within_hosts_and_then_between_them) {
  const std::vector<int> all = all_ranks(size_);
  for (const std::vector<int>& hosts : placements(size_))
    for (std::size_t part : {1, 7, 15 * 1024, 0}) {
      MpiWire wire(communicator_, {.part = part, .hosts = hosts});
      for (std::size_t count : {0, 1, 3, 1000, 10007, 140001}) {
        std::vector<float> values = uneven_numbers(rank_, count);
        wire.all_reduce_sum(values);
        EXPECT_TRUE(same_bits(values, sum_by_host(all, hosts, count))) << count << " values in parts of " << part;
      }
    }
}

// Rank 0 posts eight sums at once. The other ranks post each sum only after the one before is done. No sum may wait for
// the next one.
TEST_F(Parts, of_sums_in_a_row_do_not_wait_for_each_other) {
  const std::vector<int> all = all_ranks(size_);
  for (const std::vector<int>& hosts : placements(size_)) {
    BackgroundTransport transport(
        std::make_unique<MpiWire>(communicator_, MpiWireSettings{.part = 64, .hosts = hosts}));
    for (std::size_t count : {0, 3, 1000, 10007}) {
      std::vector<std::vector<float>> values(8, uneven_numbers(rank_, count));
      std::vector<Pending> pending;
      for (std::vector<float>& each : values) {
        pending.push_back(transport.all_reduce_sum(each));
        if (rank_ > 0) pending.back().wait();
      }
      for (Pending& each : pending) each.wait();
      for (const std::vector<float>& each : values)
        EXPECT_TRUE(same_bits(each, sum_by_host(all, hosts, count))) << count << " values";
    }
  }
}

TEST_F(Parts, of_a_group_add_up_within_its_hosts_and_then_between_them) {
  if (size_ < 4) return;
  const std::vector<int> hosts = {1, 0, 1, 0}, three = {0, 2, 3}, two = {1, 3};
  MpiWire wire(communicator_, {.part = 64, .hosts = hosts});
  for (int round = 0; round < 3; ++round)
    for (const std::vector<int>& group : {three, two}) {
      if (std::ranges::find(group, rank_) == group.end()) continue;
      std::vector<float> values = uneven_numbers(rank_, 5000);
      wire.all_reduce_sum(values, group);
      EXPECT_TRUE(same_bits(values, sum_by_host(group, hosts, 5000))) << group.size() << " ranks";
    }
}

}  // namespace
}  // namespace eave
