// Asynchronous elastic averaging. With workers in turns it is compared with simulators. In any order, the tests check
// what must hold in every order.
#include <gtest/gtest.h>

#include <numeric>

#include "test/communicator/simulator.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

struct Course {
  std::int64_t tau = 1;
  double momentum = 0;
  bool nesterov = false;
  bool uneven = false;
  bool network = false;
  std::int64_t delay = 0;
  std::int64_t drop_at = 0;
};

const std::vector<Course> kCourses = {{1, 0},
                                      {3, 0},
                                      {10, 0.9},
                                      {3, 0.9, false, true},
                                      {4, 0.99, true},
                                      {3, 0.9, true, true},
                                      {3, 0.5, false, true, true},
                                      {2, 0, false, false, false, 1},
                                      {10, 0.9, false, true, false, 9},
                                      {4, 0.99, true, true, true, 2},
                                      {3, 0.9, true, false, false, 0, 30}};

Given in_turns(std::int64_t tau, const char* overlap = "on", std::int64_t delay = 0) {
  return {{"tau", std::to_string(tau)}, {"alpha", "0.2"},           {"async-order", "round-robin"},
          {"shard-bytes", "64"},        {"async-overlap", overlap}, {"pull-delay", std::to_string(delay)}};
}

Problem problem_of(const Course& course) {
  return {.learning_rate = 0.05,
          .momentum = course.momentum,
          .nesterov = course.nesterov,
          .uneven = course.uneven,
          .network = course.network,
          .drop_at = course.drop_at};
}

class EasgdAsync : public testing::TestWithParam<Ranks> {};

TEST_P(EasgdAsync, in_turns_follows_the_simulator_in_double_for_100_steps) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Course& course : kCourses) {
      const Problem problem = problem_of(course);
      Simulator simulator(problem, transport.size());
      BegunWorker worker(transport, "easgd-async", in_turns(course.tau, "on", course.delay), problem);
      worker.run(100, [&](std::int64_t t) { simulator.round_robin_step(t, 0.2, course.tau, course.delay); });
      expect_near(worker.iterate(), simulator.x[me(transport)]);
      expect_near(worker.consensus(), simulator.c);
      worker.communicator().finish();
    }
  });
}

// The method in float, in one thread: one worker after another, with the operations in the order of the equations.
struct ElasticSimulator : FloatSimulator {
  using FloatSimulator::FloatSimulator;

  void step(std::int64_t t, float alpha, std::int64_t tau) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t k = 0; k < c.size(); ++k) {
        const float g = gradient(i, k);
        const float d = t % tau == 0 ? alpha * (x[i][k] - c[k]) : 0;
        c[k] += d;
        x[i][k] = x[i][k] - rate * g - d;
      }
    }
  }
};

TEST_P(EasgdAsync, in_turns_has_the_bits_of_the_simulator_with_overlap_and_without) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const char* overlap : {"on", "off"}) {
      const Problem problem{.learning_rate = 0.05};
      ElasticSimulator simulator(problem, transport.size());
      BegunWorker worker(transport, "easgd-async", in_turns(3, overlap), problem);
      worker.run(100, [&](std::int64_t t) { simulator.step(t, 0.2f, 3); });
      EXPECT_EQ(worker.consensus(), simulator.c) << overlap;
      EXPECT_EQ(worker.x, simulator.x[me(transport)]) << overlap;
      worker.communicator().finish();
    }
  });
}

TEST_P(EasgdAsync, alone_is_easgd_alone) {
  if (GetParam().count != 1) return;
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker alone(transport, "easgd", {{"alpha", "0.25"}, {"tau", "4"}}, {.momentum = 0.5}, 30);
    BegunWorker async(transport, "easgd-async", {{"alpha", "0.25"}, {"tau", "4"}}, {.momentum = 0.5}, 30);
    EXPECT_EQ(async.x, alone.x);
    EXPECT_EQ(async.consensus(), alone.consensus());
  });
}

// The steepest curvature, h = 1.4, has lr h = 0.7 and the lowest bound on alpha. For an odd number of workers this is
// (4 - 2 lr h)/(4 - lr h) = 0.788. Even numbers approach it from above; for 2 workers it is 0.829.
TEST_P(EasgdAsync, in_turns_converges_inside_the_bound_and_diverges_outside_for_any_number_of_workers) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const auto& [alpha, is_stable] : {std::pair{"0.75", true}, std::pair{"0.85", false}}) {
      BegunWorker worker(transport, "easgd-async",
                         {{"tau", "1"}, {"alpha", alpha}, {"async-order", "round-robin"}, {"allow-unstable", "on"}},
                         {.learning_rate = 0.5}, 1000);
      const std::vector<float> center = worker.consensus();
      const float largest = std::abs(*std::ranges::max_element(
          center, [](float a, float b) { return std::abs(a) < std::abs(b) || std::isnan(b); }));
      if (is_stable) {
        EXPECT_LT(largest, 10) << alpha;
      } else {
        EXPECT_FALSE(largest < 1e4) << alpha;
      }
      worker.communicator().finish();
    }
  });
}

// With so small an alpha, x - alpha (x - c) rounds to x in float.
TEST_P(EasgdAsync, without_a_pull_is_each_worker_alone) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string communicator : {"easgd", "easgd-async"}) {
      BegunWorker elastic(transport, communicator, {{"tau", "1"}, {"alpha", "1e-30"}},
                          {.momentum = 0.9, .uneven = true}, 30);
      BegunWorker alone(transport, "none", {}, {.momentum = 0.9, .uneven = true}, 30);
      EXPECT_EQ(elastic.x, alone.x) << communicator;
      EXPECT_EQ(elastic.consensus(), Problem().start()) << communicator;
      elastic.communicator().finish();
    }
  });
}

// The optimizer refuses Nesterov without momentum. A momentum of 1e-30 is accepted, and rounding in float removes it.
TEST_P(EasgdAsync, with_nesterov_and_vanishing_momentum_is_plain_elastic_averaging) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string communicator : {"easgd", "easgd-async"}) {
      Given given = {{"tau", "2"}, {"alpha", "0.2"}};
      if (communicator == "easgd-async") given.push_back({"async-order", "round-robin"});
      Worker ahead(transport, communicator, given, {.momentum = 1e-30, .nesterov = true});
      Worker plain(transport, communicator, given, {.momentum = 0});
      ahead.begin();
      ahead.run(30);
      const std::vector<float> center = ahead.consensus();
      ahead.communicator().finish();
      plain.begin();
      plain.run(30);
      EXPECT_EQ(ahead.x, plain.x) << communicator;
      EXPECT_EQ(center, plain.consensus()) << communicator;
      plain.communicator().finish();
    }
  });
}

// With alpha = 1 an exchange swaps worker and center. So whole numbers stay whole, in whatever order workers come.
TEST_P(EasgdAsync, conserves_the_sum_of_workers_and_center_exactly_in_any_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    Worker worker(transport, "easgd-async",
                  {{"tau", "1"}, {"alpha", "1"}, {"shard-bytes", "64"}, {"allow-unstable", "on"}},
                  {.size = 100, .learning_rate = 0});
    for (std::size_t k = 0; k < 100; ++k) worker.x[k] = static_cast<float>(3 * k);  // the center begins at rank 0's x
    worker.begin();
    for (std::size_t k = 0; k < 100; ++k) worker.x[k] = static_cast<float>(1 + k * (1 + me(transport)));
    const Doubles before = sum_with_center(transport, worker);
    worker.run(25);
    EXPECT_EQ(sum_with_center(transport, worker), before);
    EXPECT_TRUE(same_on_all_ranks(transport, worker.consensus()));
    worker.communicator().finish();
  });
}

TEST_P(EasgdAsync, counts_every_exchange_once_and_its_staleness) {
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker worker(transport, "easgd-async", in_turns(2), {.steps = 20}, 20);
    worker.communicator().finish();
    const ExchangeReport report = worker.communicator().report();
    EXPECT_EQ(report.exchanges, 10);
    if (transport.rank() != 0) return;
    // In turns, p - 1 exchanges of other workers lie between two exchanges of a worker. Each worker has 9 intervals.
    const auto others = static_cast<std::size_t>(transport.size() - 1);
    EXPECT_EQ(report.staleness[others], 9 * transport.size());
    EXPECT_EQ(std::accumulate(report.staleness.begin(), report.staleness.end(), std::int64_t{0}), 9 * transport.size());
  });
}

TEST_P(EasgdAsync, keeps_no_order_of_exchanges_that_would_not_fit_into_memory) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const auto& [steps, is_kept] : {std::pair{std::int64_t{1} << 40, false}, std::pair{std::int64_t{8}, true}}) {
      BegunWorker worker(transport, "easgd-async", {{"tau", "2"}, {"shard-bytes", "64"}}, {.steps = steps}, 8);
      worker.communicator().finish();
      const ExchangeReport report = worker.communicator().report();
      EXPECT_EQ(report.order_is_too_long, !is_kept);
      EXPECT_EQ(!report.order.empty(), is_kept && transport.rank() == 0);
      EXPECT_EQ(report.exchanges, 4);
    }
  });
}

TEST_P(EasgdAsync, in_turns_needs_no_order_to_be_repeated) {
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker worker(transport, "easgd-async", in_turns(2), {.steps = 8}, 8);
    worker.communicator().finish();
    EXPECT_TRUE(worker.communicator().report().order.empty());
    EXPECT_FALSE(worker.communicator().report().order_is_too_long);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, EasgdAsync, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
