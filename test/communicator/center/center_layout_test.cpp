// CenterLayout: how a center is cut into shards, and in which order a worker visits them.
#include "communicator/center/center_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "transport/core/transport_base.h"

namespace eave {
namespace {

constexpr std::size_t kLongest = 65536, kWorthAMessage = 4096;

CenterLayout lay_out(std::size_t size, std::size_t longest, int owners) {
  const std::vector<int> ranks = all_ranks(owners);
  return {size, even_shard_size(size, longest, ranks.size()), ranks};
}

TEST(CenterLayout, gives_all_owners_the_same_and_no_shard_more_than_the_longest) {
  for (const std::size_t size : {351946u, 3274634u, 25000000u}) {
    for (const int owners : {1, 2, 3, 8, 64}) {
      const CenterLayout layout = lay_out(size, kLongest, owners);
      std::size_t most = 0, sum = 0;
      for (int rank = 0; rank < owners; ++rank) {
        most = std::max(most, layout.kept(rank).size);
        sum += layout.kept(rank).size;
      }
      EXPECT_EQ(sum, size);
      EXPECT_LE(layout.shard(0).size, kLongest);
      const auto share = static_cast<double>(size) / owners;
      EXPECT_LE(static_cast<double>(most), 1.01 * share + 16) << size << " of " << owners;
    }
  }
}

TEST(CenterLayout, has_no_shards_below_16_KiB_but_where_they_are_asked_for) {
  EXPECT_EQ(lay_out(100000, kLongest, 64).shard(0).size, kWorthAMessage);
  EXPECT_EQ(lay_out(100000, kLongest, 64).shards(), 25u);
  EXPECT_EQ(lay_out(100000, 16, 64).shard(0).size, 16u);
  EXPECT_EQ(lay_out(10, kLongest, 4).shards(), 1u);
}

TEST(CenterLayout, can_be_told_from_its_number_of_shards) {
  for (const std::size_t size : {10u, 5000u, 100000u, 351946u, 3274634u, 25000000u}) {
    for (const std::size_t longest : {std::size_t{8192}, kLongest}) {
      for (const int owners : {1, 2, 3, 8, 64}) {
        const CenterLayout layout = lay_out(size, longest, owners);
        const std::size_t told = shard_size_of(size, layout.shards(), layout.owners().size());
        EXPECT_EQ(std::min(told, size), layout.shard(0).size) << size << " in " << longest << " for " << owners;
      }
    }
  }
}

TEST(CenterLayout, deals_out_a_shard_of_each_owner_in_turn) {
  const CenterLayout layout(100, 10, {4, 5, 6});  // shards 0 to 3, 4 to 6, 7 to 9
  EXPECT_EQ(layout.dealt_out(0), (std::vector<std::size_t>{0, 4, 7, 1, 5, 8, 2, 6, 9, 3}));
  EXPECT_EQ(layout.dealt_out(2), (std::vector<std::size_t>{7, 0, 4, 8, 1, 5, 9, 2, 6, 3}));
  EXPECT_EQ(CenterLayout(10, 10, {0, 1, 2}).dealt_out(1), std::vector<std::size_t>{0});
}

}  // namespace
}  // namespace eave
