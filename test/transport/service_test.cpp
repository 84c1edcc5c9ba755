// The contract of requests: the replies that come back, and how often and in which order an owner answers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "eave/agreement.h"
#include "test/allocations.h"
#include "test/transport/numbers.h"
#include "test/transport/ranks.h"
#include "test/transport/services.h"

namespace eave {
namespace {

// The number of storms of requests. It is smaller on devices: a storm makes about ten copies, each of which takes time.
int storms_of(const Ranks& ranks) {
#ifdef __SANITIZE_THREAD__
  return 100;
#endif
  return ranks.transport.find("staged") == 0 || ranks.transport.find("lazy") == 0 ? 200 : 1000;
}

class ServiceContract : public testing::TestWithParam<Ranks> {};

TEST_P(ServiceContract, replies_come_back_in_place_from_every_owner) {
  on_ranks(GetParam(), [](Transport& transport) {
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    for (std::size_t count : {0, 1, 3, 15361, 65536, 100001}) {
      std::vector<std::vector<float>> values;
      std::vector<ServiceRequest> requests;
      for (int owner = 0; owner < transport.size(); ++owner)
        for (std::int64_t key : {std::int64_t{0}, std::int64_t{7}, std::int64_t{1} << 40})
          requests.push_back({owner, key, values.emplace_back(uneven_numbers(transport.rank(), count))});
      transport.request(requests).wait();
      std::vector<float> expected = uneven_numbers(transport.rank(), count);
      for (std::size_t k = 0; k < requests.size(); ++k) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i)
          wrong += values[k][i] != DoublingService::reply(expected[i], requests[k].key, requests[k].owner);
        EXPECT_EQ(wrong, 0u) << "of " << count << " from rank " << requests[k].owner;
      }
    }
    serving.end();
  });
}

TEST_P(ServiceContract, each_request_is_answered_exactly_once) {
  on_ranks(GetParam(), [](Transport& transport) {
    constexpr int kKeys = 100;
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    std::vector<float> values(static_cast<std::size_t>(transport.size() * kKeys) * 10);
    std::vector<ServiceRequest> requests;
    for (int owner = 0; owner < transport.size(); ++owner)
      for (int key = 0; key < kKeys; ++key)
        requests.push_back({owner, key, Slice(values).subspan(requests.size() * 10, 10)});
    transport.request(requests).wait();
    serving.end();
    EXPECT_EQ(service.times_answered.size(), static_cast<std::size_t>(transport.size() * kKeys));
    for (const auto& [request, times] : service.times_answered) EXPECT_EQ(times, 1) << request.first;
  });
}

TEST_P(ServiceContract, takes_its_place_in_the_order_of_a_ranks_operations) {
  on_ranks(GetParam(), [](Transport& transport) {
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    std::vector<float> values(3000, 1.0f);
    const std::vector<ServiceRequest> requests{{0, 5, values}};
    Pending sum = transport.all_reduce_sum(values), answered = transport.request(requests);
    transport.all_reduce_sum(values).wait();
    EXPECT_TRUE(sum.done() && answered.done());
    const float p = static_cast<float>(transport.size());
    EXPECT_EQ(values, std::vector<float>(3000, p * (2 * p + 5)));
    EXPECT_TRUE(transport.request({}).wait() < 30) << "no requests: done";
    serving.end();
  });
}

TEST_P(ServiceContract, answers_in_turn_when_the_service_refuses_who_comes_early) {
  on_ranks(GetParam(), [](Transport& transport) {
    constexpr int kRounds = 40, kShards = 3;
    const int p = transport.size();
    RoundRobinService service(p * kShards);
    // Each rank counts as `kShards` requesters. So its first requests wait for turns of requests that it sends later.
    struct Turns final : Service {
      RoundRobinService& inner;
      explicit Turns(RoundRobinService& service) : inner(service) {}
      bool answer(int from, std::int64_t key, Slice values) override {
        return inner.answer(from * kShards + static_cast<int>(key), key, values);
      }
    } turns(service);
    Serving serving(transport, &turns);
    RandomStream random({.seed = 5}, static_cast<std::uint64_t>(transport.rank()));
    for (int round = 0; round < kRounds; ++round) {
      std::vector<float> values(static_cast<std::size_t>(kShards * p) * 50, 1.0f);
      std::vector<ServiceRequest> requests;
      // The last key is sent first, and refused until the other keys have been answered.
      for (int key = kShards; key-- > 0;)
        for (int owner = 0; owner < p; ++owner)
          requests.push_back({owner, key, Slice(values).subspan(requests.size() * 50, 50)});
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
      transport.request(requests).wait();
      EXPECT_EQ(values, std::vector<float>(values.size(), 1.0f)) << "what is refused stays untouched";
    }
    serving.end();
    ASSERT_EQ(service.order.size(), static_cast<std::size_t>(kRounds * kShards * p));
    for (std::size_t k = 0; k < service.order.size(); ++k)
      EXPECT_EQ(service.order[k], static_cast<int>(k) % (p * kShards));
    EXPECT_EQ(service.sum, 50 * kRounds * kShards * p);
    EXPECT_GT(service.refused, 0);
  });
}

// Adds up the integers in requests, by key.
class SummingService final : public Service {
 public:
  bool answer(int, std::int64_t key, Slice values) override {
    for (float value : values) sums[static_cast<std::size_t>(key)] += static_cast<std::int64_t>(value);
    return true;
  }
  std::vector<std::int64_t> sums = std::vector<std::int64_t>(4);
};

// Sends some requests of random length to random owners, and waits. Adds to `sent` what each owner must receive under
// each key.
void storm(Transport& transport, RandomStream& random, std::vector<double>& sent) {
  std::vector<std::vector<float>> values(1 + random.below(8));
  std::vector<ServiceRequest> requests;
  for (std::vector<float>& each : values) {
    each.assign(1 + random.below(300), static_cast<float>(1 + random.below(100)));
    const auto owner = static_cast<int>(random.below(static_cast<std::uint32_t>(transport.size())));
    requests.push_back({owner, static_cast<std::int64_t>(random.below(4)), each});
    sent[static_cast<std::size_t>(owner) * 4 + static_cast<std::size_t>(requests.back().key)] +=
        static_cast<double>(each.size()) * each.front();
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
  transport.request(requests).wait();
}

TEST_P(ServiceContract, storms_of_requests_are_each_applied_exactly_once) {
  on_ranks(GetParam(), [](Transport& transport) {
    SummingService service;
    Serving serving(transport, &service);
    RandomStream random({.seed = 13}, static_cast<std::uint64_t>(transport.rank()));
    std::vector<double> sent(static_cast<std::size_t>(transport.size()) * 4);
    // The ranks send different numbers of storms, so they end at different times.
    const int storms = storms_of(GetParam()) * (transport.rank() + 1) / transport.size();
    for (int k = 0; k < storms; ++k) storm(transport, random, sent);
    serving.end();
    const std::vector<double> sent_by_all = sum_over_ranks(transport, sent);
    for (std::size_t key = 0; key < 4; ++key)
      EXPECT_EQ(static_cast<double>(service.sums[key]),
                sent_by_all[static_cast<std::size_t>(transport.rank()) * 4 + key]);
  });
}

TEST_P(ServiceContract, may_be_replaced_and_ended_and_held_by_some_ranks_only) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      DoublingService first(1), second(2);
      Serving serving(transport, &first);
      std::vector<float> values(100, 1.0f);
      const std::vector<ServiceRequest> requests{{repeat % transport.size(), 0, values}};
      transport.request(requests).wait();
      transport.serve(transport.rank() == repeat % transport.size() ? &second : nullptr);
      transport.request(requests).wait();
      EXPECT_EQ(values, std::vector<float>(100, 2 * (2 + 1000) + 2000));
      serving.end();
      EXPECT_EQ(second.answered, transport.rank() == repeat % transport.size() ? transport.size() : 0);
    }
  });
}

// Refuses the requests of other ranks until `open` is set. Counts in `held` the different requests it has refused.
class GatedService final : public Service {
 public:
  explicit GatedService(int owner) : owner_(owner) {}
  bool answer(int from, std::int64_t key, Slice) override {
    if (from == owner_ || open) return true;
    if (seen_.insert({from, key}).second) ++held;
    return false;
  }
  std::atomic<bool> open{false};
  std::atomic<int> held{0};

 private:
  const int owner_;
  std::set<std::pair<int, std::int64_t>> seen_;
};

// Collective. All ranks ask each owner in turn. The owner answers only when as many requests are open as there may be
// at a time.
void fill_owners(Transport& transport, GatedService& service, Slice values) {
  constexpr int kKeys = 20, kAtLeastInFlight = 8;
  std::vector<ServiceRequest> requests;
  for (int key = 0; key < kKeys; ++key) requests.push_back({0, key, values.subspan(requests.size() * 1000, 1000)});
  for (int owner = 0; owner < transport.size(); ++owner) {
    for (ServiceRequest& each : requests) each.owner = owner;
    const auto start = std::chrono::steady_clock::now();
    while (owner == transport.rank() && service.held < kAtLeastInFlight * (transport.size() - 1)) {
      ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (owner == transport.rank()) service.open = true;
    transport.request(requests).wait();  // after the owner's own request, it answers those it refused
  }
}

TEST_P(ServiceContract, allocates_nothing_once_as_many_have_been_open_as_may_be) {
  on_ranks(GetParam(), [](Transport& transport) {
    GatedService service(transport.rank());
    Serving serving(transport, &service);
    std::vector<float> values(static_cast<std::size_t>(transport.size()) * 20 * 1000);
    std::vector<ServiceRequest> requests;
    for (int owner = 0; owner < transport.size(); ++owner)
      for (int key = 0; key < 20; ++key)
        requests.push_back({owner, key, Slice(values).subspan(requests.size() * 1000, 1000)});
    const auto exchange = [&] { transport.request(requests).wait(); };
    fill_owners(transport, service, values);
    for (int step = 0; step < 3; ++step) exchange();
    for (int step = 0; step < 3; ++step) transport.all_reduce_sum(values).wait();
    const long before = allocations();
    transport.all_reduce_sum(values).wait();
    for (int step = 0; step < 50; ++step) exchange();
    transport.all_reduce_sum(values).wait();
    const long after = allocations();
    transport.all_reduce_sum(values).wait();  // keeps each rank here until all ranks have read the counter
    EXPECT_EQ(after - before, 0);
    serving.end();
  });
}

INSTANTIATE_TEST_SUITE_P(On, ServiceContract, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
