// Sums of the transport `tcp` over several hosts: within each host first, as with mpi.
#include <gtest/gtest.h>

#include "test/transport/numbers.h"
#include "transport/tcp/tcp_job.h"

namespace eave {
namespace {

// The sum of four ranks on two hosts: of each host in rank order, then of both.
std::vector<float> sum_of_hosts(std::vector<int> first, std::vector<int> second, std::size_t count) {
  std::vector<float> sum = sum_in_order(first, count);
  const std::vector<float> other = sum_in_order(second, count);
  for (std::size_t i = 0; i < count; ++i) sum[i] += other[i];
  return sum;
}

TEST(TcpSums, add_up_within_hosts_and_then_between_them) {
  struct Case {
    std::vector<int> hosts, first, second;
  };
  for (const Case& each : {Case{{0, 0, 2, 2}, {0, 1}, {2, 3}}, Case{{0, 1, 0, 1}, {0, 2}, {1, 3}}}) {
    const int code = run_tcp_threads(4, each.hosts,
                                     [&](Transport& transport) {
                                       for (std::size_t count : {1, 1000, 140001}) {
                                         std::vector<float> values = uneven_numbers(transport.rank(), count);
                                         transport.all_reduce_sum(values).wait();
                                         EXPECT_TRUE(same_bits(values, sum_of_hosts(each.first, each.second, count)))
                                             << count;
                                       }
                                     },
                                     {"tcp", true});
    EXPECT_EQ(code, 0);
  }
}

TEST(TcpSums, of_tcp_flat_keep_to_rank_order_on_any_hosts) {
  const int code = run_tcp_threads(4, {0, 1, 0, 1},
                                   [&](Transport& transport) {
                                     const std::vector<int> all = {0, 1, 2, 3};
                                     std::vector<float> values = uneven_numbers(transport.rank(), 140001);
                                     transport.all_reduce_sum(values).wait();
                                     EXPECT_TRUE(same_bits(values, sum_in_order(all, values.size())));
                                   },
                                   {"tcp-flat", false});
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace eave
