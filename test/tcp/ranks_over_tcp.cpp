// Defines ranks.h for the transports `tcp` and `tcp-flat`: ranks are threads of this process, over real connections.
// With tcp all ranks share a host, so sums go through shared memory. With tcp-flat they go through messages.
#include <gtest/gtest.h>

#include "test/transport/ranks.h"
#include "transport/tcp/tcp_job.h"

namespace eave {

std::vector<Ranks> ranks_under_test() {
  std::vector<Ranks> all;
  for (const char* name : {"tcp", "tcp-flat"})
    for (int count : {1, 2, 3, 4}) all.push_back({name, count});
  return all;
}

void on_ranks(const Ranks& ranks, const std::function<void(Transport&)>& body) {
  const std::vector<int> hosts(static_cast<std::size_t>(ranks.count), 0);
  EXPECT_EQ(run_tcp_threads(ranks.count, hosts, body, {ranks.transport, ranks.transport == "tcp"}), 0);
}

}  // namespace eave
