// Requests and sums of groups through decorators of a transport (counting, shaped). Ranks are threads.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "eave/decorators.h"
#include "test/transport/ranks.h"
#include "test/transport/services.h"
#include "test/transport/timing.h"

namespace eave {
namespace {

using Clock = std::chrono::steady_clock;

// The shortest time of several runs, in seconds: the time of the link when the machine is not busy.
double shortest_time(const std::function<void()>& operation) {
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 15; ++repeat) {
    const Clock::time_point start = Clock::now();
    operation();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// Seconds allowed for waking a thread after each sleep, on a machine that may be busy.
constexpr double kServiceWakeUp = 3e-3;

TEST(CountingService, counts_requests_for_who_sends_and_replies_for_who_answers) {
  on_ranks({"threads", 3}, [](Transport& threads) {
    const auto transport = make_counting_transport(threads);
    DoublingService service(transport->rank());
    Serving serving(*transport, &service);
    std::vector<float> values(1000, 1.0f);
    const Slice all(values);
    const std::vector<ServiceRequest> requests{
        {0, 0, all.first(100)}, {1, 0, all.subspan(100, 200)}, {2, 0, all.last(700)}};
    if (transport->rank() == 0) transport->request(requests).wait();
    serving.end();
    const std::vector<std::int64_t> bytes{4 * (200 + 700), 4 * 200, 4 * 700};
    EXPECT_EQ(transport->counters().bytes, bytes[static_cast<std::size_t>(transport->rank())]);
    EXPECT_EQ(transport->counters().calls, transport->rank() == 0 ? 1 : 0);
    EXPECT_EQ(service.answered, 1);
  });
}

TEST(CountingService, does_not_count_what_is_refused) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto transport = make_counting_transport(threads);
    RoundRobinService service(2);
    Serving serving(*transport, &service);
    std::vector<float> values(100, 1.0f);
    const std::vector<ServiceRequest> requests{{0, 0, values}};
    for (int round = 0; round < 50; ++round) transport->request(requests).wait();
    serving.end();
    EXPECT_EQ(transport->counters().bytes, 50 * 400) << "rank 1's requests, rank 0's replies";
    EXPECT_EQ(transport->counters().calls, 50);
  });
}

TEST(CountingGroups, counts_by_the_size_of_the_group) {
  on_ranks({"threads", 4}, [](Transport& threads) {
    const auto transport = make_counting_transport(threads);
    std::vector<float> values(1000, 1.0f);
    const int first = transport->rank() / 2 * 2;
    const std::vector<int> group{first, first + 1};
    transport->all_reduce_sum(values, group).wait();
    EXPECT_EQ(values.front(), 2.0f);
    EXPECT_EQ(transport->counters().bytes, 4000);  // 2 · 1/2 · 4000
  });
}

// With a delay of 2 ms and 50 MB/s, 250,000 floats take 22 ms to the owner and 22 ms back.
constexpr LinkShape kServiceLink{.delay_seconds = 2e-3, .bytes_per_second = 50e6};

TEST(ShapedService, request_takes_delay_and_bytes_over_rate_both_ways) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto transport = make_shaped_transport(threads, kServiceLink);
    EchoService service;
    Serving serving(*transport, &service);
    std::vector<float> values(250000);
    const std::vector<ServiceRequest> requests{{1 - transport->rank(), 0, values}};
    const double seconds = shortest_time([&] { transport->request(requests).wait(); });
    expect_to_take(seconds, 44e-3, 2 * kServiceWakeUp);
    serving.end();
    EXPECT_EQ(service.answered, 15);
  });
}

TEST(ShapedService, requests_share_the_link_and_own_ones_cost_nothing) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto transport = make_shaped_transport(threads, kServiceLink);
    EchoService service;
    Serving serving(*transport, &service);
    std::vector<float> values(500000);
    const Slice all(values);
    const int me = transport->rank(), other = 1 - me;
    std::vector<ServiceRequest> requests{
        {me, 0, all.first(250000)}, {other, 0, all.subspan(250000, 125000)}, {other, 1, all.last(125000)}};
    const double seconds = shortest_time([&] { transport->request(requests).wait(); });
    expect_to_take(seconds, 44e-3, 2 * kServiceWakeUp);
    requests.resize(1);
    EXPECT_LT(shortest_time([&] { transport->request(requests).wait(); }), kServiceWakeUp);
    serving.end();
  });
}

TEST(ShapedService, slower_of_the_two_links_sets_the_pace) {
  on_ranks({"threads", 3}, [](Transport& threads) {
    const LinkShape slow{.delay_seconds = 10e-3, .bytes_per_second = 20e6};
    const auto transport = make_shaped_transport(threads, threads.rank() == 2 ? slow : kServiceLink);
    EchoService service;
    Serving serving(*transport, &service);
    std::vector<float> values(25000);
    const std::vector<ServiceRequest> requests{{(transport->rank() + 1) % 3, 0, values}};
    const double seconds = shortest_time([&] { transport->request(requests).wait(); });
    // Rank 0 asks rank 1, and rank 1 asks rank 0.
    const double expected = transport->rank() == 0 ? 2 * (2e-3 + 2e-3) : 2 * (10e-3 + 5e-3);
    expect_to_take(seconds, expected, 2 * kServiceWakeUp);
    serving.end();
  });
}

TEST(ShapedGroups, take_the_time_of_the_slowest_link_in_the_group) {
  on_ranks({"threads", 4}, [](Transport& threads) {
    LinkShape shape = kServiceLink;
    if (threads.rank() == 3) shape.delay_seconds = 30e-3;
    const auto transport = make_shaped_transport(threads, shape);
    std::vector<float> values(25000, 1.0f);  // 100 kB among two ranks: 2 ms
    const int first = transport->rank() / 2 * 2;
    const std::vector<int> group{first, first + 1};
    const double seconds = shortest_time([&] { transport->all_reduce_sum(values, group).wait(); });
    const double expected = first == 0 ? 4e-3 : 32e-3;
    expect_to_take(seconds, expected, kServiceWakeUp);
  });
}

TEST(ShapedService, of_a_single_rank_has_no_link) {
  on_ranks({"loopback", 1}, [](Transport& loopback) {
    const auto transport = make_shaped_transport(loopback, {.delay_seconds = 3600, .bytes_per_second = 1});
    DoublingService service(0);
    Serving serving(*transport, &service);
    std::vector<float> values(10, 1.0f);
    const std::vector<ServiceRequest> requests{{0, 3, values}};
    transport->request(requests).wait();
    EXPECT_EQ(values.front(), 5.0f);
    serving.end();
  });
}

}  // namespace
}  // namespace eave
