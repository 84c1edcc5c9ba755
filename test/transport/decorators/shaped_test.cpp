// The transport "shaped" takes the times that its link shape prescribes. Ranks are threads.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <limits>
#include <thread>

#include "eave/agreement.h"
#include "eave/decorators.h"
#include "eave/transport.h"
#include "test/transport/ranks.h"
#include "test/transport/timing.h"

namespace eave {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Collective. The shortest time of several runs of `operation`, in seconds: the time of the link when the machine is
// not busy.
double shortest(Transport& transport, const std::function<void()>& operation) {
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 25; ++repeat) {
    sum_over_ranks(transport, {});
    const Clock::time_point start = Clock::now();
    operation();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// On 2 ranks with delay 2 ms and 100 MB/s, an allreduce of 250,000 floats (1 MB on the wire) takes 12 ms.
constexpr LinkShape kLink{.delay_seconds = 2e-3, .bytes_per_second = 100e6};
// Seconds allowed for waking a thread after its sleep, on a machine that may be busy.
constexpr double kWakeUp = 2e-3;

void on_two_ranks(const std::function<void(Transport&)>& body) { on_ranks({"threads", 2}, body); }

TEST(Shaped, operation_takes_delay_plus_bytes_over_rate) {
  on_two_ranks([](Transport& threads) {
    const auto transport = make_shaped_transport(threads, kLink);
    EXPECT_EQ(transport->name(), "shaped(threads)");
    std::vector<float> values(250000, 1.0f);
    const double all_reduce = shortest(threads, [&] { transport->all_reduce_sum(values).wait(); });
    expect_to_take(all_reduce, 12e-3, kWakeUp);
    const double broadcast = shortest(threads, [&] { transport->broadcast(values, 1).wait(); });
    expect_to_take(broadcast, 7e-3, kWakeUp);
    const double gather = shortest(threads, [&] { transport->all_gather(std::string(100000, 'x')); });
    expect_to_take(gather, 3e-3, kWakeUp);
  });
}

TEST(Shaped, time_counts_from_the_last_rank_that_joined) {
  on_two_ranks([](Transport& threads) {
    const auto transport = make_shaped_transport(threads, kLink);
    std::vector<float> values(250000);
    double late = 0;
    const double both = shortest(threads, [&] {
      if (transport->rank() == 1) std::this_thread::sleep_for(20ms);
      const Clock::time_point joined = Clock::now();
      transport->all_reduce_sum(values).wait();
      late = seconds_since(joined);
    });
    if (transport->rank() != 1) return;  // on a busy machine rank 0's clock may start after rank 1 has slept
    EXPECT_GE(both, 32e-3);
    EXPECT_GE(late, 12e-3);
  });
}

TEST(Shaped, operations_share_the_link_one_after_another) {
  on_two_ranks([](Transport& threads) {
    const auto transport = make_shaped_transport(threads, kLink);
    std::vector<float> a(250000), b(250000), c(250000);
    const double three = shortest(threads, [&] {
      Pending first = transport->all_reduce_sum(a), second = transport->all_reduce_sum(b);
      transport->all_reduce_sum(c).wait();
      EXPECT_TRUE(first.done() && second.done());
    });
    expect_to_take(three, 36e-3, 3 * kWakeUp);
  });
}

TEST(Shaped, slowest_link_sets_the_pace) {
  on_two_ranks([](Transport& threads) {
    LinkShape shape = kLink;
    if (threads.rank() == 1) shape.bytes_per_second /= 3;
    const auto transport = make_shaped_transport(threads, shape);
    std::vector<float> values(250000);
    EXPECT_GE(shortest(threads, [&] { transport->all_reduce_sum(values).wait(); }), 32e-3);
  });
}

TEST(Shaped, link_without_delay_or_rate_changes_nothing) {
  on_two_ranks([](Transport& threads) {
    const auto transport = make_shaped_transport(threads, {});
    std::vector<float> values(1000, 1.0f);
    EXPECT_LT(shortest(threads, [&] { transport->all_reduce_sum(values).wait(); }), kWakeUp);
    transport->broadcast(values, 0).wait();
    EXPECT_GE(values.front(), 2.0f);
  });
}

TEST(Shaped, sleeps_and_does_not_spin) {
  on_two_ranks([](Transport& threads) {
    const auto transport = make_shaped_transport(threads, {.delay_seconds = 0.3, .bytes_per_second = 0});
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    std::vector<float> values(10);
    transport->all_reduce_sum(values).wait();
    getrusage(RUSAGE_SELF, &after);
    const auto used =
        (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000000 + after.ru_utime.tv_usec - before.ru_utime.tv_usec;
    EXPECT_LT(used, 100000) << "microseconds of both ranks in 0.3 s";
  });
}

TEST(Shaped, single_rank_has_no_link) {
  on_ranks({"loopback", 1}, [](Transport& loopback) {
    const auto transport = make_shaped_transport(loopback, {.delay_seconds = 3600, .bytes_per_second = 1});
    std::vector<float> values(1000, 1.0f);
    transport->all_reduce_sum(values).wait();
    EXPECT_EQ(values.front(), 1.0f);
  });
}

TEST(Shaped, failure_of_the_inner_transport_comes_through) {
  on_two_ranks([](Transport& threads) {
    const auto transport = make_shaped_transport(threads, {});
    std::vector<float> values(10);
    if (threads.rank() == 1) return transport->abort(ExitCode::kInternal);
    EXPECT_THROW(transport->all_reduce_sum(values).wait(), Error);
  });
}

TEST(Shaped, impossible_links_are_refused) {
  on_ranks({"loopback", 1}, [](Transport& loopback) {
    EXPECT_THROW(make_shaped_transport(loopback, {.delay_seconds = -1}), Error);
    EXPECT_THROW(make_shaped_transport(loopback, {.bytes_per_second = std::numeric_limits<double>::infinity()}), Error);
  });
}

TEST(Shaped, jitter_delays_each_call_by_up_to_so_much) {
  on_two_ranks([](Transport& threads) {
    const auto transport = make_shaped_transport(threads, {.jitter_seconds = 4e-3, .jitter_seed = 1});
    std::vector<float> values(10, 1.0f);
    const Clock::time_point start = Clock::now();
    for (int call = 0; call < 100; ++call) transport->all_reduce_sum(values).wait();
    // The later of two ranks is late by 2/3 of the jitter on average. 100 calls make 0.27 s, with a standard deviation
    // of 0.01 s.
    EXPECT_GT(seconds_since(start), 0.22);
    EXPECT_LT(seconds_since(start), 0.32 + 100 * kWakeUp);
  });
}

}  // namespace
}  // namespace eave
