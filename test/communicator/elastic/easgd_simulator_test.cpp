// Compares easgd with an independent simulator of the published equations, which computes in double.
#include <gtest/gtest.h>

#include <cmath>

#include "test/communicator/simulator.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

struct Course {
  std::string order;
  std::int64_t tau = 1;
  double momentum = 0;
  bool uneven = false;
  bool nesterov = false;
  double alpha = 0.2;
  bool network = false;
  std::int64_t drop_at = 0;
};

std::vector<Course> courses() {
  std::vector<Course> all;
  for (const std::string order : {"paper", "after-step", "center-first"}) {
    for (const std::int64_t tau : {1, 3, 10}) {
      all.push_back({order, tau, 0, false});
      all.push_back({order, tau, 0.9, false});
      all.push_back({order, tau, 0.9, true});
      all.push_back({order, tau, 0.9, true, true});
      all.push_back({order, tau, 0.99, false, true});
      all.push_back({.order = order, .tau = tau, .momentum = 0.5, .uneven = true, .network = true});
    }
    // The learning rate drops at a step with an exchange. The iterate of the new rate must be pulled.
    all.push_back({.order = order, .tau = 3, .momentum = 0.9, .nesterov = true, .drop_at = 30});
    all.push_back({.order = order, .tau = 3, .momentum = 0.9, .nesterov = true, .drop_at = 32});
  }
  return all;
}

std::string describe(const Course& course) {
  return course.order + ", tau " + std::to_string(course.tau) + ", momentum " + std::to_string(course.momentum) +
         (course.uneven ? ", uneven" : "") + (course.nesterov ? ", nesterov" : "") +
         (course.network ? ", network" : "") +
         (course.drop_at > 0 ? ", drop at " + std::to_string(course.drop_at) : "");
}

class EasgdSimulator : public testing::TestWithParam<Ranks> {};

TEST_P(EasgdSimulator, is_followed_for_100_steps_in_every_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Course& course : courses()) {
      SCOPED_TRACE(describe(course));
      const Problem problem{.learning_rate = 0.05,
                            .momentum = course.momentum,
                            .nesterov = course.nesterov,
                            .uneven = course.uneven,
                            .network = course.network,
                            .drop_at = course.drop_at};
      Simulator simulator(problem, transport.size());
      BegunWorker worker(transport, "easgd",
                         {{"order", course.order}, {"tau", std::to_string(course.tau)}, {"alpha", "0.2"}}, problem);
      worker.run(100, [&](std::int64_t t) {
        simulator.elastic_step(t, course.order, course.alpha, course.alpha * transport.size(), course.tau);
      });
      // Compares float with double at values up to 5. All courses are stable, so rounding errors do not accumulate.
      expect_near(worker.iterate(), simulator.x[me(transport)]);
      expect_near(worker.consensus(), simulator.c);
    }
  });
}

TEST_P(EasgdSimulator, is_followed_with_a_beta_of_its_own_in_center_first_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.momentum = 0.5};
    Simulator simulator(problem, transport.size());
    BegunWorker worker(transport, "easgd", {{"order", "center-first"}, {"tau", "4"}, {"alpha", "0.3"}, {"beta", "0.7"}},
                       problem);
    worker.run(100, [&](std::int64_t t) { simulator.elastic_step(t, "center-first", 0.3, 0.7, 4); });
    expect_near(worker.x, simulator.x[me(transport)]);
    expect_near(worker.consensus(), simulator.c);
  });
}

// A mistake that is easy to make is to pull the look-ahead point.
TEST(EasgdNesterovSimulator, is_ahead_of_the_iterate_by_far_more_than_the_tolerance_above) {
  const Problem problem{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true};
  Simulator simulator(problem, 1);
  double largest = 0;
  for (std::int64_t t = 0; t < 20; ++t) {
    simulator.elastic_step(t, "paper", 0.2, 0.2, 3);
    for (const double v : simulator.v[0]) largest = std::max(largest, std::abs(problem.momentum * v));
  }
  // In one exchange with alpha = 0.2, a pull of the point ahead would differ by this much.
  EXPECT_GT(0.2 * largest, 1e-2);
}

TEST(EasgdOrders, differ_by_far_more_than_the_tolerance_above) {
  std::vector<Doubles> workers;
  for (const std::string order : {"paper", "after-step", "center-first"}) {
    Simulator simulator({.learning_rate = 0.05}, 2);
    for (std::int64_t t = 0; t < 100; ++t) simulator.elastic_step(t, order, 0.2, 0.4, 3);
    workers.push_back(simulator.x[0]);
  }
  expect_apart(workers, 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Ranks, EasgdSimulator, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
