#include "test/transport/large.h"

namespace eave {
namespace {

TEST(LargeCounts, all_reduce_and_broadcast_reach_the_last_value) {
  for (const TransportKind& kind : transport_kinds()) {
    if (kind.is_launched) continue;  // test/mpi/large_test.cpp tests these
    EXPECT_EQ(kind.run(2, exchange_more_than_2_31_values), 0);
  }
}

}  // namespace
}  // namespace eave
