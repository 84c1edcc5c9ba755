// CountingTransport: the calls, bytes and seconds that it counts.
#include <gtest/gtest.h>

#include <thread>

#include "eave/decorators.h"
#include "eave/transport.h"
#include "test/transport/ranks.h"
#include "test/transport/sum/codecs.h"

namespace eave {
namespace {

TEST(Counting, counts_calls_and_bytes_of_a_bandwidth_optimal_algorithm) {
  on_ranks({"threads", 4}, [](Transport& threads) {
    const auto transport = make_counting_transport(threads);
    EXPECT_EQ(transport->name(), "counting(threads)");
    std::vector<float> values(1000, 1.0f);
    transport->all_reduce_sum(values).wait();
    EXPECT_EQ(values.front(), 4.0f);
    EXPECT_EQ(transport->counters().calls, 1);
    EXPECT_EQ(transport->counters().bytes, 6000);  // 2 · 3/4 · 4000
    transport->broadcast(values, 2).wait();
    EXPECT_EQ(transport->counters().bytes, 9000);
    transport->all_gather("seven b");
    EXPECT_EQ(transport->counters().bytes, 9021);
    transport->gather("seven b");
    EXPECT_EQ(transport->counters().bytes, threads.rank() == 0 ? 9021 : 9028);
    transport->broadcast_text(threads.rank() == 0 ? "eight by" : "not looked at");
    EXPECT_EQ(transport->counters().bytes, threads.rank() == 0 ? 9027 : 9034);
    transport->scatter(threads.rank() == 0 ? std::vector<std::string>{"", "a", "ab", "abc"}
                                           : std::vector<std::string>());
    // For the scatter, rank 0 counts 6 bytes of text and 4 lengths of 8 bytes.
    EXPECT_EQ(transport->counters().bytes, threads.rank() == 0 ? 9065 : 9034);
    EXPECT_EQ(transport->counters().calls, 6);
  });
}

TEST(Counting, counts_the_bytes_of_a_compressed_sum_as_they_travel) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto transport = make_counting_transport(threads);
    const auto int8 = make_codec("int8");
    std::vector<float> values(3000, 1.0f), residual(3000);
    transport->all_reduce_sum(values, {}, {int8.get(), residual}).wait();
    EXPECT_EQ(transport->counters().bytes, 3012);  // 2 · 1/2 · (3000 and a scale for each of 3 blocks)
    EXPECT_EQ(transport->counters().calls, 1);
  });
}

TEST(Counting, adds_up_the_seconds_operations_were_carried_out) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto shaped = make_shaped_transport(threads, {.delay_seconds = 20e-3, .bytes_per_second = 0});
    const auto transport = make_counting_transport(*shaped);
    EXPECT_EQ(transport->name(), "counting(shaped(threads))");
    std::vector<float> values(10);
    Pending first = transport->all_reduce_sum(values), second = transport->broadcast(values, 0);
    first.wait();
    second.wait();
    EXPECT_GE(transport->counters().seconds, 40e-3);
    EXPECT_LT(transport->counters().seconds, 1) << "an operation that waits in the queue does not count";
    EXPECT_EQ(transport->counters().calls, 2) << "what shaped itself sends does not count";
  });
}

TEST(Counting, counts_no_bytes_on_a_single_rank) {
  on_ranks({"loopback", 1}, [](Transport& loopback) {
    const auto transport = make_counting_transport(loopback);
    std::vector<float> values(1000);
    transport->all_reduce_sum(values).wait();
    EXPECT_EQ(transport->counters().calls, 1);
    EXPECT_EQ(transport->counters().bytes, 0);
  });
}

TEST(Counting, may_be_read_while_operations_run) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto transport = make_counting_transport(threads);
    std::jthread reader([&](std::stop_token stop) {
      while (!stop.stop_requested()) EXPECT_GE(transport->counters().bytes, 0);
    });
    std::vector<float> values(1000);
    for (int k = 0; k < 200; ++k) transport->all_reduce_sum(values).wait();
    EXPECT_EQ(transport->counters().bytes, 200 * 4000);
  });
}

}  // namespace
}  // namespace eave
