// Defines ranks.h for test programs without mpirun: all transports that one process can run.
#include <gtest/gtest.h>

#include <algorithm>

#include "eave/job.h"
#include "test/transport/ranks.h"

namespace eave {

std::vector<Ranks> ranks_under_test() {
  std::vector<Ranks> all;
  for (const TransportKind& kind : transport_kinds()) {
    if (kind.is_launched) continue;  // test/mpi runs them under mpirun
    for (int count : {1, 2, 3, 4})
      if (count == 1 || kind.name != "loopback") all.push_back({kind.name, count});
  }
  return all;
}

void on_ranks(const Ranks& ranks, const std::function<void(Transport&)>& body) {
  const auto kind =
      std::ranges::find_if(transport_kinds(), [&](const TransportKind& each) { return each.name == ranks.transport; });
  ASSERT_NE(kind, transport_kinds().end());
  EXPECT_EQ(kind->run(ranks.count, body), 0);
}

}  // namespace eave
