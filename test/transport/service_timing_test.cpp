// Owners answer requests at any time, whatever their own thread does. Also measures the CPU time of being ready.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "test/transport/numbers.h"
#include "test/transport/ranks.h"
#include "test/transport/services.h"
#include "test/transport/timing.h"

namespace eave {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ServiceTiming : public testing::TestWithParam<Ranks> {};

// Sends one request to `owner`, and waits for the reply.
void ask(Transport& transport, int owner, std::vector<float>& values) {
  const std::vector<ServiceRequest> requests{{owner, 0, values}};
  transport.request(requests).wait();
}

TEST_P(ServiceTiming, requests_are_answered_while_the_owner_computes) {
  on_ranks(GetParam(), [](Transport& transport) {
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    std::vector<float> values(100000);
    ask(transport, (transport.rank() + 1) % transport.size(), values);
    const auto start = Clock::now();
    volatile double work = 0;  // the compute thread never waits and never calls the transport
    while (service.answered == 0 && Clock::now() - start < 60s)
      for (int i = 0; i < 100000; ++i) work = work + 1;
    EXPECT_EQ(service.answered, 1);
    serving.end();
  });
}

TEST_P(ServiceTiming, requests_are_answered_while_the_owner_has_nothing_to_do) {
  on_ranks(GetParam(), [](Transport& transport) {
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    std::vector<float> values(100000);
    if (transport.rank() > 0) ask(transport, 0, values);
    const auto start = Clock::now();
    while (transport.rank() == 0 && service.answered < transport.size() - 1 && Clock::now() - start < 60s)
      std::this_thread::sleep_for(1ms);
    if (transport.rank() == 0) {
      EXPECT_EQ(service.answered, transport.size() - 1);
    }
    serving.end();
  });
}

TEST_P(ServiceTiming, requests_are_answered_while_the_owner_waits_in_a_collective) {
  on_ranks(GetParam(), [](Transport& transport) {
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    std::vector<float> values(100000), sum(1000, 1.0f);
    Pending collective;
    if (transport.rank() > 0) collective = transport.all_reduce_sum(sum);
    // Rank 0 joins the sum only after each rank has answered it.
    for (int owner = 0; transport.rank() == 0 && owner < transport.size(); ++owner) ask(transport, owner, values);
    if (transport.rank() == 0) collective = transport.all_reduce_sum(sum);
    collective.wait();
    EXPECT_EQ(sum.front(), static_cast<float>(transport.size()));
    serving.end();
    EXPECT_EQ(service.answered, 1);
  });
}

TEST_P(ServiceTiming, requests_are_answered_while_the_owner_waits_for_its_own) {
  on_ranks(GetParam(), [](Transport& transport) {
    // Rank 0 refuses the last rank's request until it has answered all other ranks. These ask rank 0 only after the
    // last rank has answered them, so the last rank must answer while it waits.
    struct LastWaits final : Service {
      explicit LastWaits(int count) : ranks(count) {}
      bool answer(int from, std::int64_t, Slice) override {
        if (from == ranks - 1 && answered < ranks - 1) return false;
        ++answered;
        return true;
      }
      const int ranks;
      int answered = 0;
    } last_waits(transport.size());
    Serving serving(transport, &last_waits);
    std::vector<float> values(100000);
    const int last = transport.size() - 1;
    if (transport.rank() != last) ask(transport, last, values);  // the last rank is waiting for rank 0
    ask(transport, 0, values);
    serving.end();
    const int me = transport.rank();
    EXPECT_EQ(last_waits.answered, me == 0 ? transport.size() : me == last ? last : 0);
  });
}

// The last rank is slow: between its two exchanges it does nothing until it has answered all requests of other ranks.
TEST_P(ServiceTiming, slow_rank_does_not_hold_up_the_others) {
  on_ranks(GetParam(), [](Transport& transport) {
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    constexpr int kExchanges = 20;
    const bool slow = transport.rank() == transport.size() - 1 && transport.size() > 1;
    std::vector<float> values(65536);
    for (int step = 0; step < (slow ? 2 : kExchanges); ++step) {
      for (int owner = 0; owner < transport.size(); ++owner) ask(transport, owner, values);
      if (!slow || step > 0) continue;
      const int of_others = kExchanges * (transport.size() - 1) + 1;
      const auto start = Clock::now();
      while (service.answered < of_others && Clock::now() - start < 60s) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(service.answered, of_others) << "after a minute";
    }
    serving.end();
  });
}

constexpr double kHundredth = 0.01;

// The share of a core that this process uses, the least of up to `windows` windows of half a second. Stops at the first
// window below a hundredth. Other activity of the process can only raise the share.
double least_share_of_a_core(int windows) {
  double least = 1e9;
  for (int k = 0; k < windows && least >= kHundredth; ++k) {
    const double before = cpu_seconds_of_process();
    const auto start = Clock::now();
    std::this_thread::sleep_for(500ms);
    least = std::min(least, (cpu_seconds_of_process() - before) / seconds_since(start));
  }
  return least;
}

// The last rank comes late to end(), so the other ranks wait in serve(nullptr), like a rank that only serves.
TEST_P(ServiceTiming, being_ready_costs_less_than_a_hundredth_of_a_core) {
  on_ranks(GetParam(), [](Transport& transport) {
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    std::this_thread::sleep_for(2100ms);  // by then the communication threads have reached their longest sleep
    const double idle = least_share_of_a_core(3);
    EXPECT_LT(idle, kHundredth);
    auto ending = std::async(std::launch::async, [] { return least_share_of_a_core(5); });
    if (transport.rank() == transport.size() - 1) ending.wait();
    serving.end();
    EXPECT_LT(ending.get(), kHundredth);
    if (transport.rank() == 0) RecordProperty("share_of_a_core", std::to_string(idle));
  });
}

INSTANTIATE_TEST_SUITE_P(On, ServiceTiming, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
