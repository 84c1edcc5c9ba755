#include "test/transport/large.h"

#include "test/transport/ranks.h"

namespace eave {
namespace {

TEST(LargeCounts, all_reduce_and_broadcast_reach_the_last_value) {
  on_ranks(ranks_under_test().front(), exchange_more_than_2_31_values);
}

}  // namespace
}  // namespace eave
