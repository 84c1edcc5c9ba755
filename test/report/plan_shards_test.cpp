// Compares plans of a center in shards on all ranks with a simulation that plays the shards one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "report/plan/plan_model.h"
#include "test/report/simulations.h"

namespace eave {
namespace {

// Plays ranks that keep a center in shards. In each period a worker exchanges all shards of other ranks, eight at a
// time. Meanwhile it computes the hidden share of the period, and afterwards the rest. A link carries shards in the
// order in which they come.
class SimulatedShards {
 public:
  SimulatedShards(int ranks, double bytes, double rate, double longest_shard)
      : ranks_(ranks), links_(static_cast<std::size_t>(ranks)) {
    const double kept = bytes / ranks;
    of_each_ = static_cast<int>(std::ceil(kept / longest_shard));
    seconds_ = kept / of_each_ / rate;
    workers_.resize(static_cast<std::size_t>(ranks));
  }

  // Returns the mean seconds of a period. compute(rank, share) returns the seconds in which `rank` computes this share
  // of a period.
  template <class Compute>
  double period(double hidden_share, Compute compute) {
    constexpr int kPeriods = 60, kFirst = 20;
    double sum = 0;
    for (int rank = 0; rank < ranks_; ++rank) begin_at(compute(rank, 1.0), rank);
    while (!events_.empty()) {
      std::ranges::pop_heap(events_, std::greater<>());
      const auto [now, what, rank, owner] = events_.back();
      events_.pop_back();
      Worker& worker = workers_[static_cast<std::size_t>(rank)];
      if (what == kBegin) {
        worker.hidden_until = now + compute(rank, hidden_share);
        worker.sent = worker.returned = 0;
        for (int k = 0; k < kWindow; ++k) send_next(now, rank);
      } else if (what == kCome) {
        post(carry(owner, rank, now), kReturned, rank, owner);
      } else if (++worker.returned < shards_of_others()) {
        send_next(now, rank);
      } else {
        const double end = std::max(now, worker.hidden_until) + compute(rank, 1 - hidden_share);
        if (++worker.periods == kFirst) worker.first = end;
        if (worker.periods < kPeriods) {
          begin_at(end, rank);
        } else {
          sum += (end - worker.first) / (kPeriods - kFirst);
        }
      }
    }
    return sum / ranks_;
  }

 private:
  enum What { kBegin, kCome, kReturned };
  static constexpr int kWindow = 8;
  struct Worker {
    double hidden_until = 0, first = 0;
    int sent = 0, returned = 0, periods = 0;
  };
  struct Ends {
    Link out, in;
  };

  int shards_of_others() const { return of_each_ * (ranks_ - 1); }
  void begin_at(double time, int rank) { post(time, kBegin, rank, 0); }
  void post(double time, What what, int rank, int owner) {
    events_.emplace_back(time, what, rank, owner);
    std::ranges::push_heap(events_, std::greater<>());
  }
  double carry(int from, int to, double ready) {
    const double gone = links_[static_cast<std::size_t>(from)].out.send(ready, seconds_);
    return links_[static_cast<std::size_t>(to)].in.send(gone - seconds_, seconds_);
  }
  void send_next(double now, int rank) {
    Worker& worker = workers_[static_cast<std::size_t>(rank)];
    if (worker.sent == shards_of_others()) return;
    const int owner = (rank + 1 + worker.sent++ % (ranks_ - 1)) % ranks_;
    post(carry(rank, owner, now), kCome, rank, owner);
  }

  int ranks_, of_each_ = 1;
  double seconds_ = 0;
  std::vector<Ends> links_;
  std::vector<Worker> workers_;
  std::vector<std::tuple<double, What, int, int>> events_;
};

TEST(PlanModel, of_shards_on_all_ranks_is_that_of_shards_simulated_one_by_one) {
  PlanBasis even = measured(1), scattered = measured(2);
  for (double& seconds : even.step_seconds[0]) seconds = 15e-3;
  for (const double bytes : {1.4e6, 13.1e6}) {
    even.parameter_bytes = scattered.parameter_bytes = bytes;
    for (const double rate : {11.5e6, 1.15e8, 2.5e8}) {
      const PlanNetwork network{.bytes_per_second = rate, .delay_seconds = 0, .message_seconds = 0};
      for (const int ranks : {2, 3, 4, 8, 32}) {
        for (const std::int64_t hiding : {1, 10}) {
          const PlanMethod method{
              .name = "easgd-async", .pattern = ExchangePattern::kRequests, .tau = 10, .hiding_steps = hiding};
          const double share = static_cast<double>(hiding) / 10;
          const std::string where = std::to_string(ranks) + " ranks, " + std::to_string(bytes) + " at " +
                                    std::to_string(rate) + ", behind " + std::to_string(hiding);
          const auto simulated = [&](const PlanBasis& basis) {
            std::mt19937_64 random(19);
            const auto compute = [&](int rank, double of_period) {
              return computing(basis, rank, 10, random) * of_period;
            };
            return SimulatedShards(ranks, bytes, rate, rate < 200e6 ? 32 * 1024 : 256 * 1024).period(share, compute) /
                   10;
          };
          expect_within(predict(even, network, method, ranks).step_seconds, simulated(even), 0.06, where);
          expect_within(predict(scattered, network, method, ranks).step_seconds, simulated(scattered), 0.15, where);
        }
      }
    }
  }
}

// 1.4 MB are 85 shards of 16 KiB, so 1024 ranks have less than one shard each. All ranks ask the few ranks that keep a
// shard.
TEST(PlanModel, of_more_ranks_than_shards_has_owners_that_all_ask) {
  PlanBasis basis = measured(1);
  basis.parameter_bytes = 1.4e6;
  PlanNetwork network{.bytes_per_second = 1.25e8, .delay_seconds = 0, .message_seconds = 0};
  const PlanMethod method{.name = "easgd-async", .pattern = ExchangePattern::kRequests, .tau = 10, .hiding_steps = 1};
  const PlanRow row = predict(basis, network, method, 1024);
  EXPECT_NEAR(row.link_bytes * 10, 1.4e6 - 16384 + 1023 * 16384.0, 1);
  EXPECT_EQ(row.bound, PlanBound::kNetwork);
  network = {.bytes_per_second = 1.25e9, .delay_seconds = 0, .message_seconds = 5e-6};
  EXPECT_EQ(predict(basis, network, method, 4096).bound, PlanBound::kNetwork);
  network.message_seconds = 2e-5;
  EXPECT_EQ(predict(basis, network, method, 4096).bound, PlanBound::kMessages);
}

}  // namespace
}  // namespace eave
