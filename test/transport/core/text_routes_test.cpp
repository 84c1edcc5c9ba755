#include "transport/core/text_routes.h"

#include <gtest/gtest.h>

#include <bit>

namespace eave {
namespace {

int steps_to_first(int rank) {
  int steps = 0;
  for (; rank > 0; rank = parent_of(rank)) ++steps;
  return steps;
}

TEST(TextRoutes, every_rank_is_its_parents_child_and_ranks_of_a_subtree_follow_each_other) {
  for (const int ranks : {1, 2, 3, 7, 8, 9, 64, 100, 4096}) {
    std::vector<int> parents(static_cast<std::size_t>(ranks), 0);
    const int most = std::bit_width(static_cast<unsigned>(ranks - 1));
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<int> children = children_of(rank, ranks);
      EXPECT_LE(static_cast<int>(children.size()), most) << rank << " of " << ranks;
      EXPECT_LE(steps_to_first(rank), most) << rank << " of " << ranks;
      for (std::size_t i = 0; i < children.size(); ++i) {
        EXPECT_EQ(parent_of(children[i]), rank);
        EXPECT_EQ(children[i], rank + (1 << i)) << "the subtree before it ends there";
        EXPECT_EQ(end_of_subtree(children[i], ranks),
                  i + 1 < children.size() ? children[i + 1] : end_of_subtree(rank, ranks));
        ++parents[static_cast<std::size_t>(children[i])];
      }
    }
    for (int rank = 1; rank < ranks; ++rank) EXPECT_EQ(parents[static_cast<std::size_t>(rank)], 1) << rank;
  }
}

}  // namespace
}  // namespace eave
