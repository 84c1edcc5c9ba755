// Defines ranks.h for test programs without mpirun: all transports that one process can run.
#include <gtest/gtest.h>

#include "test/transport/ranks.h"

namespace eave {

std::vector<Ranks> ranks_under_test() { return ranks_of_one_process(); }

void on_ranks(const Ranks& ranks, const std::function<void(Transport&)>& body) {
  EXPECT_EQ(find_kind(transport_kinds(), ranks.transport).run(ranks.count, body), 0);
}

}  // namespace eave
