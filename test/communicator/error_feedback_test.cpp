// Error feedback: residuals keep all that compression drops. Tested on numbers that floats hold exactly, and against a
// simulation in double.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "communicator/outer/worker_momentum.h"
#include "communicator/support/weighted_mean.h"
#include "exchanges.h"
#include "simulator.h"
#include "test/transport/ranks.h"
#include "test/transport/sum/codecs.h"
#include "worker.h"

namespace eave {
namespace {

class ErrorFeedbacks : public testing::TestWithParam<Ranks> {};

std::vector<float> floats_in(ConstSlice slice) { return {slice.begin(), slice.end()}; }
std::vector<float> last_of(const std::vector<Slice>& state) { return floats_in(state.back()); }

// The values are whole numbers of 7 bits, so sums are exact. int8 is missing here: its scale is rarely a power of two,
// so it rounds. Other tests cover it.
TEST_P(ErrorFeedbacks, of_easgd_conserve_the_sum_of_parameters_center_and_residuals_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string order : {"paper", "after-step"}) {
      for (const std::string codec : {"bf16", "fp16", "top-k"}) {
        Given given = {
            {"order", order}, {"tau", "1"}, {"alpha", "0.125"}, {"allow-unstable", "on"}, {"compression", codec}};
        if (codec == "top-k") given.emplace_back("top-k-share", "0.1");
        Worker worker(transport, "easgd", given, {.size = 40});
        start_at(worker, whole_numbers(transport.rank(), 40));
        const auto conserved = [&] {
          const Doubles sum = sum_with_center(transport, worker);
          if (transport.size() == 1) return sum;
          return added(sum, sum_of_all(transport, last_of(worker.communicator().state())));
        };
        expect_conserved(worker, conserved, order + " with " + codec);
        if (transport.size() > 1 && codec == "top-k") {
          EXPECT_NE(last_of(worker.communicator().state()), std::vector<float>(40));
        }
      }
    }
  });
}

// With alpha 1/2 a pair loses twice what each of its workers has dropped.
TEST_P(ErrorFeedbacks, of_gossip_conserve_the_sum_of_parameters_and_twice_the_residuals_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    BegunWorker worker(transport, "gossip", {{"tau", "1"}, {"compression", "bf16"}}, {.size = 40});
    std::ranges::copy(whole_numbers(transport.rank(), 40), worker.x.begin());
    for (float& value : worker.x) value *= 33;  // more than 8 bits: bf16 has something to drop
    const auto residual = [&] { return last_of(worker.communicator().state()); };
    const auto conserved = [&] {
      std::vector<float> twice = residual();
      for (float& value : twice) value *= 2;
      return added(sum_of_all(transport, worker.x), sum_of_all(transport, twice));
    };
    expect_conserved(worker, conserved);
    EXPECT_NE(residual(), std::vector<float>(40));
  });
}

// The first ranks of groups keep a second residual, of the sum among themselves.
TEST_P(ErrorFeedbacks, of_a_tree_conserve_the_sum_of_parameters_centers_and_residuals_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    Worker worker(transport, "easgd-tree",
                  {{"groups", "2"},
                   {"tau", "1"},
                   {"global-tau", "2"},
                   {"alpha", "0.25"},
                   {"global-alpha", "0.125"},
                   {"allow-unstable", "on"},
                   {"compression", "top-k"},
                   {"top-k-share", "0.1"}},
                  {.size = 40});
    start_at(worker, whole_numbers(transport.rank(), 40));
    const auto conserved = [&] {
      Doubles sum = sum_with_center(transport, worker);
      const std::vector<Slice> state = worker.communicator().state();
      std::vector<float> own(40);  // what this rank alone keeps
      const auto add = [&](ConstSlice more) { std::ranges::transform(own, more, own.begin(), std::plus<float>()); };
      const bool is_first = state.size() == 5;
      add(state[3]);
      if (is_first) add(state[1]);  // the group's center, which others hold too
      if (is_first) add(state[4]);
      return added(sum, sum_of_all(transport, own));
    };
    expect_conserved(worker, conserved);
    if (transport.size() < 4) return;  // in a group of one nothing is dropped
    for (std::size_t i = 3; i < worker.communicator().state().size(); ++i)
      EXPECT_NE(floats_in(worker.communicator().state()[i]), std::vector<float>(40)) << i;
  });
}

// If a compressed difference of AdamW's second moments were sent late, it could make them negative and their roots NaN.
TEST_P(ErrorFeedbacks, of_momentum_leave_the_optimizers_other_vectors_whole) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    constexpr std::size_t kSize = 2000;
    std::vector<float> x(kSize), g(kSize), first(kSize), second(kSize);
    const std::shared_ptr<const Codec> codec = make_codec("top-k", "0.01");
    MomentumExchange momentum(transport, WorkerMomentum::kAverage, codec, 2);
    momentum.begin({x, g, {}, {first, second}});
    const auto ranks = static_cast<float>(transport.size());
    const float rank = static_cast<float>(transport.rank());
    for (std::size_t k = 0; k < kSize; ++k) first[k] = second[k] = ranks * static_cast<float>(k) + rank;
    WeightedMean mean(transport);
    mean.count({.samples = 1, .samples_everywhere = transport.size()});
    momentum.exchange(mean);
    EXPECT_EQ(std::ranges::count(first, 0.0f), kSize - 11 - 10) << "2000 values are a block of 1024 and one of 976";
    for (std::size_t k = 0; k < kSize; ++k)
      EXPECT_NEAR(second[k], ranks * static_cast<float>(k) + (ranks - 1) / 2, 1e-3f * static_cast<float>(k + 1));
  });
}

TEST_P(ErrorFeedbacks, are_not_needed_by_easgd_async_to_conserve_the_sum_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string codec : {"bf16", "fp16"}) {
      Worker worker(transport, "easgd-async",
                    {{"tau", "1"},
                     {"alpha", "0.125"},
                     {"async-order", "round-robin"},
                     {"shard-bytes", "64"},
                     {"compression", codec}},
                    {.size = 40});
      start_at(worker, whole_numbers(transport.rank(), 40));
      for (float& value : worker.x) value *= 33;  // more than 8 bits: bf16 has something to drop
      const Doubles before = sum_with_center(transport, worker);
      for (std::int64_t t = 1; t <= 3; ++t) {
        exchange(worker, t);
        EXPECT_EQ(sum_with_center(transport, worker), before) << codec << ", step " << t;
      }
    }
  });
}

// The workers move by whole numbers. Their mean is exact if p is a power of two, so 3 ranks are left out.
TEST_P(ErrorFeedbacks, of_means_conserve_what_all_moved_by_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 3) return;
    MeanExchange exchange(transport, make_codec("top-k", "0.1"));
    const WeightedMean mean(transport);
    std::vector<float> agreed(40, 4.0f);
    Doubles moved(40, 4.0);  // 4: where all began
    exchange.begin(cpu_device(), agreed);
    for (int round = 0; round < 5; ++round) {
      std::vector<float> x = agreed, mine = whole_numbers(transport.rank() + 3 * round, 40);
      for (std::size_t k = 0; k < 40; ++k) x[k] += mine[k];
      for (std::size_t k = 0; k < 40; ++k) mine[k] /= static_cast<float>(transport.size());
      moved = added(moved, sum_of_all(transport, mine));
      exchange.average(mean, x);
      exchange.agree_on(x);
      EXPECT_TRUE(same_on_all_ranks(transport, x));
      agreed = x;
      std::vector<Slice> state;
      exchange.append_state(state);
      EXPECT_EQ(std::vector<float>(state[0].begin(), state[0].end()), agreed);
      EXPECT_EQ(added(sum_of_all(transport, last_of(state)), agreed), moved) << "round " << round;
    }
  });
}

// Few elements move, so top-k sends all of them and drops nothing.
TEST_P(ErrorFeedbacks, of_means_weigh_workers_by_their_samples) {
  on_ranks(GetParam(), [](Transport& transport) {
    const int ranks = transport.size(), samples_of_all = ranks * (ranks + 1) / 2;
    MeanExchange exchange(transport, make_codec("top-k", "0.5"));
    WeightedMean mean(transport);
    mean.count({.samples = transport.rank() + 1, .samples_everywhere = samples_of_all});
    std::vector<float> x(40, 4.0f);
    exchange.begin(cpu_device(), x);
    Doubles expected(40, 4.0);
    for (std::size_t k = 0; k < 12; ++k) {
      x[k] += whole_numbers(transport.rank(), 40)[k];
      for (int rank = 0; rank < ranks; ++rank)
        expected[k] += (rank + 1.0) / samples_of_all * static_cast<double>(whole_numbers(rank, 40)[k]);
    }
    exchange.average(mean, x);
    for (std::size_t k = 0; k < 40; ++k) EXPECT_NEAR(x[k], expected[k], 1e-5) << k;
  });
}

// A copy of `values` in which all but the `kept` values of largest magnitude are 0. Top-k by sorting, in double.
Doubles largest_of(const Doubles& values, std::size_t kept) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  Doubles left(values.size());
  for (std::size_t k = 0; k < kept; ++k) left[order[k]] = values[order[k]];
  return left;
}

// A compressed sum with top-k of a single block, which rank 0 owns. The other ranks send the largest of their values
// plus residuals. Rank 0 adds these up and sends the largest values of the sum.
struct TopKSum {
  TopKSum(std::size_t ranks, std::size_t size, std::size_t kept_) : kept(kept_), residuals(ranks, Doubles(size)) {}
  Doubles operator()(const std::vector<Doubles>& values) {
    Doubles sum = residuals[0];
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += values[0][k];
    for (std::size_t i = 1; i < values.size(); ++i) {
      for (std::size_t k = 0; k < sum.size(); ++k) residuals[i][k] += values[i][k];
      const Doubles sent = largest_of(residuals[i], kept);
      for (std::size_t k = 0; k < sum.size(); ++k) {
        residuals[i][k] -= sent[k];
        sum[k] += sent[k];
      }
    }
    if (values.size() == 1) return values[0];
    const Doubles result = largest_of(sum, kept);
    for (std::size_t k = 0; k < sum.size(); ++k) residuals[0][k] = sum[k] - result[k];
    return result;
  }
  std::size_t kept;
  std::vector<Doubles> residuals;
};

// Top-k keeps 4 of 37 numbers. Float and double differ by about 1e-6 of the values after the tests' number of steps.
constexpr double kTolerance = 2e-5;

void expect_near_at(const std::vector<float>& values, const Doubles& expected, const std::string& what) {
  for (std::size_t k = 0; k < values.size(); ++k) ASSERT_NEAR(values[k], expected[k], kTolerance) << what << ", " << k;
}

TEST_P(ErrorFeedbacks, of_easgd_follow_the_simulation_in_double) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.momentum = 0.5};
    const double alpha = 0.9 / transport.size();
    const auto ranks = static_cast<std::size_t>(transport.size()), me = static_cast<std::size_t>(transport.rank());
    Worker worker(transport, "easgd", {{"tau", "2"}, {"beta", "0.9"}, {"compression", "top-k"}, {"top-k-share", "0.1"}},
                  problem);
    Simulator simulator(problem, transport.size());
    TopKSum sum(ranks, problem.size, 4);
    worker.begin();
    for (std::int64_t t = 0; t < 40; ++t) {
      worker.step();
      std::vector<Doubles> pulls(ranks, Doubles(problem.size));
      const bool exchanges = t > 0 && t % 2 == 0;
      for (std::size_t i = 0; i < ranks; ++i) {
        for (std::size_t k = 0; exchanges && k < problem.size; ++k)
          pulls[i][k] = alpha * (simulator.x[i][k] - simulator.c[k]);
        simulator.subtract(i, simulator.local_step(i, t));
        simulator.subtract(i, pulls[i]);
      }
      if (!exchanges) continue;
      const Doubles arrived = sum(pulls);
      for (std::size_t k = 0; k < problem.size; ++k) simulator.c[k] += arrived[k];
      expect_near_at(worker.x, simulator.x[me], "worker in step " + std::to_string(t));
      expect_near_at(worker.consensus(), simulator.c, "center in step " + std::to_string(t));
    }
  });
}

TEST_P(ErrorFeedbacks, of_allreduce_follow_the_simulation_in_double) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.uneven = true};
    const auto ranks = static_cast<std::size_t>(transport.size());
    Worker worker(transport, "allreduce", {{"compression", "top-k"}, {"top-k-share", "0.1"}}, problem);
    TopKSum sum(ranks, problem.size, 4);
    const std::vector<float> start = problem.start();
    Doubles x(start.begin(), start.end());
    worker.begin();
    for (std::int64_t t = 0; t < 40; ++t) {
      worker.step();
      std::vector<Doubles> gradients;
      for (int rank = 0; rank < transport.size(); ++rank) {
        gradients.push_back(WorkerLoss(problem, rank).gradient(x));
        const double weight = static_cast<double>(problem.samples(rank, t)) /
                              static_cast<double>(problem.samples_everywhere(transport.size(), t));
        for (double& value : gradients.back()) value *= weight;
      }
      const Doubles gradient = sum(gradients);
      for (std::size_t k = 0; k < x.size(); ++k) x[k] -= problem.learning_rate * gradient[k];
      expect_near_at(worker.x, x, "step " + std::to_string(t));
    }
  });
}

TEST_P(ErrorFeedbacks, of_allreduce_do_not_depend_on_where_buckets_are_cut) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string codec : {"bf16", "int8", "top-k"}) {
      std::vector<std::vector<float>> parameters, residuals;
      for (const std::string bucket : {"4096", "4100", "9k", "1MiB"}) {
        BegunWorker worker(transport, "allreduce", {{"compression", codec}, {"bucket-bytes", bucket}}, {.size = 6000},
                           5);
        parameters.push_back(worker.x);
        residuals.push_back(transport.size() > 1 ? last_of(worker.communicator().state()) : std::vector<float>());
        EXPECT_EQ(parameters.back(), parameters.front()) << codec << ", " << bucket;
        EXPECT_EQ(residuals.back(), residuals.front()) << codec << ", " << bucket;
      }
    }
  });
}

TEST_P(ErrorFeedbacks, are_forgotten_where_all_begin_anew_from_the_center) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    for (const std::string method : {"easgd", "local-sgd", "diloco"}) {
      BegunWorker worker(transport, method, {{"tau", "2"}, {"compression", "top-k"}}, {.momentum = 0.9}, 5);
      worker.consensus();
      EXPECT_NE(last_of(worker.communicator().state()), std::vector<float>(37)) << method;
      worker.reset_to_center();
      EXPECT_EQ(last_of(worker.communicator().state()), std::vector<float>(37)) << method;
    }
  });
}

TEST_P(ErrorFeedbacks, of_pairs_and_trees_are_forgotten_where_all_begin_anew_from_the_center) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    const auto expect_forgotten = [&](const std::string& method, const Given& given, std::size_t first) {
      BegunWorker worker(transport, method, with(given, {{"tau", "1"}}), {.momentum = 0.9}, 6);
      worker.consensus();
      const std::vector<Slice> state = worker.communicator().state();
      ASSERT_LT(first, state.size());
      for (std::size_t i = first; i < state.size(); ++i)
        EXPECT_NE(floats_in(state[i]), std::vector<float>(37)) << method << i;
      worker.reset_to_center();
      for (std::size_t i = first; i < state.size(); ++i)
        EXPECT_EQ(floats_in(state[i]), std::vector<float>(37)) << method << i;
    };
    expect_forgotten("gossip", {{"compression", "bf16"}}, 1);
    if (transport.size() < 4) return;  // in a group of one nothing is dropped
    expect_forgotten("easgd-tree", {{"groups", "2"}, {"global-tau", "2"}, {"compression", "top-k"}}, 3);
  });
}

// All workers hold these parameters, and the next exchange sends their distances from them.
TEST_P(ErrorFeedbacks, of_local_sgd_begin_from_the_parameters_of_averaged_gradients) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    BegunWorker worker(transport, "local-sgd", {{"tau", "3"}, {"post-local-at", "10"}, {"compression", "top-k"}}, {},
                       10);
    EXPECT_EQ(floats_in(worker.communicator().state()[2]), worker.x);
    EXPECT_TRUE(same_on_all_ranks(transport, worker.x));
  });
}

TEST_P(ErrorFeedbacks, of_local_sgd_begin_anew_from_the_center_and_a_momentum_of_0) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;
    BegunWorker worker(transport, "local-sgd", {{"tau", "2"}, {"worker-momentum", "average"}, {"compression", "top-k"}},
                       {.momentum = 0.9}, 5);
    const std::vector<Slice> state = worker.communicator().state();
    EXPECT_NE(floats_in(state[4]), std::vector<float>(37));
    worker.reset_to_center();
    EXPECT_EQ(floats_in(state[2]), worker.x);
    EXPECT_EQ(floats_in(state[4]), std::vector<float>(37));
  });
}

INSTANTIATE_TEST_SUITE_P(AllTransports, ErrorFeedbacks, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
