// The DOWNPOUR methods. With workers in turns they are compared with simulators. In any order, the tests check what
// must hold in every order.
#include <gtest/gtest.h>

#include "downpour_simulator.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

struct Course {
  std::int64_t tau = 1;
  double momentum = 0;
  bool nesterov = false;
  bool uneven = false;
  bool network = false;

  Problem problem() const {
    return {.learning_rate = 0.02, .momentum = momentum, .nesterov = nesterov, .uneven = uneven, .network = network};
  }
};

const std::vector<Course> kCourses = {
    {1}, {3}, {7, 0.5}, {3, 0.5, false, true}, {4, 0.5, true}, {3, 0.5, true, true}, {3, 0.5, false, true, true}};

Given in_turns(const Given& more) { return with({{"async-order", "round-robin"}, {"shard-bytes", "64"}}, more); }

class Downpour : public testing::TestWithParam<Ranks> {};

// Float against double, at values of order 1. The trainings contract, so rounding errors do not accumulate.
TEST_P(Downpour, in_turns_follows_the_simulator_in_double_for_100_steps) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Course& course : kCourses) {
      const Given tau = {{"tau", std::to_string(course.tau)}};
      const Given averaged = with(tau, {{"average-rate", "0.03"}});
      for (const auto& [name, given, rate] :
           {std::tuple{"downpour", tau, 0.0}, {"adownpour", tau, 0.0}, {"mvadownpour", averaged, 0.03}}) {
        SCOPED_TRACE(std::string(name) + " tau " + std::to_string(course.tau));
        DownpourSimulator simulator(course.problem(), transport.size());
        BegunWorker worker(transport, name, in_turns(given), course.problem());
        worker.run(100, [&, rate = rate](std::int64_t t) { simulator.push_step(t, course.tau, rate); });
        expect_near(worker.iterate(), simulator.x[me(transport)], 2e-5);
        expect_near(worker.consensus(), name == std::string("downpour") ? simulator.c : simulator.z, 2e-5);
        worker.communicator().finish();
      }
    }
  });
}

TEST_P(Downpour, with_momentum_at_the_center_follows_the_simulator_in_double_for_100_steps) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Course& course : kCourses) {
      for (const double delta : {0.0, 0.5, 0.9}) {
        for (const char* decay : {"0", "0.1"}) {
          Problem problem = course.problem();
          problem.learning_rate = 0.005;
          DownpourSimulator simulator(problem, transport.size());
          BegunWorker worker(transport, "mdownpour",
                             in_turns({{"center-momentum", std::to_string(delta)}, {"weight-decay", decay}}), problem);
          worker.run(100, [&](std::int64_t t) { simulator.gradient_step(t, delta, std::stod(decay)); });
          expect_near(worker.x, simulator.x[me(transport)], 5e-5);
          expect_near(worker.consensus(), simulator.c, 5e-5);
          worker.communicator().finish();
        }
      }
    }
  });
}

TEST_P(Downpour, with_center_ranks_follows_the_simulator_of_the_other_ranks) {
  if (GetParam().count == 1) return;
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.005, .uneven = true};
    const int workers = transport.size() - 1;
    for (const char* name : {"downpour", "adownpour", "mdownpour"}) {
      const bool has_tau = name != std::string("mdownpour");
      const Given given = has_tau ? Given{{"tau", "3"}, {"center-ranks", "1"}}
                                  : Given{{"center-momentum", "0.5"}, {"center-ranks", "1"}};
      DownpourSimulator simulator(problem, workers);
      BegunWorker worker(transport, name, in_turns(given), problem);
      worker.run(50,
                 [&](std::int64_t t) { has_tau ? simulator.push_step(t, 3, 0) : simulator.gradient_step(t, 0.5, 0); });
      expect_near(worker.consensus(), name == std::string("adownpour") ? simulator.z : simulator.c, 1e-5);
      worker.communicator().finish();
    }
  });
}

// The methods in float, in one thread: one worker after another, with the operations in the order of the equations.
struct PushingSimulator : FloatSimulator {
  PushingSimulator(const Problem& problem_, int ranks) : FloatSimulator(problem_, ranks), b(x), u(c.size()) {}

  void push_step(std::int64_t t, std::int64_t tau) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t k = 0; k < c.size(); ++k) {
        x[i][k] = x[i][k] - rate * gradient(i, k);
        if ((t + 1) % tau != 0) continue;
        const float moved = x[i][k] - b[i][k];
        c[k] += moved;
        x[i][k] = b[i][k] = c[k];
      }
    }
  }
  void gradient_step(float delta) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t k = 0; k < c.size(); ++k) {
        const float sent = -rate * gradient(i, k);
        u[k] = delta * u[k] + sent;
        c[k] += u[k];
        x[i][k] = c[k] + delta * u[k];
      }
    }
  }
  std::vector<std::vector<float>> b;
  std::vector<float> u;
};

TEST_P(Downpour, in_turns_has_the_bits_of_the_simulator) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02};
    PushingSimulator plain(problem, transport.size()), nesterov(problem, transport.size());
    BegunWorker downpour(transport, "downpour", in_turns({{"tau", "3"}}), problem);
    downpour.run(100, [&](std::int64_t t) { plain.push_step(t, 3); });
    EXPECT_EQ(downpour.consensus(), plain.c);
    EXPECT_EQ(downpour.x, plain.x[me(transport)]);
    downpour.communicator().finish();
    BegunWorker mdownpour(transport, "mdownpour", in_turns({{"center-momentum", "0.5"}}), problem);
    mdownpour.run(100, [&](std::int64_t) { nesterov.gradient_step(0.5f); });
    EXPECT_EQ(mdownpour.consensus(), nesterov.c);
    EXPECT_EQ(mdownpour.x, nesterov.x[me(transport)]);
    mdownpour.communicator().finish();
  });
}

TEST_P(Downpour, averaged_at_rate_one_shows_the_center_of_downpour_and_moves_no_worker_otherwise) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02, .momentum = 0.5, .uneven = true};
    const Given tau = in_turns({{"tau", "3"}});
    BegunWorker downpour(transport, "downpour", tau, problem, 40),
        moved(transport, "mvadownpour", with(tau, {{"average-rate", "1"}}), problem, 40),
        averaged(transport, "mvadownpour", with(tau, {{"average-rate", "0.001"}}), problem, 40),
        mean(transport, "adownpour", tau, problem, 40);
    EXPECT_EQ(moved.consensus(), downpour.consensus());
    EXPECT_NE(averaged.consensus(), downpour.consensus());
    EXPECT_NE(mean.consensus(), downpour.consensus());
    for (Worker* each : {&downpour, &moved, &averaged, &mean}) {
      EXPECT_EQ(each->x, downpour.x);
      each->communicator().finish();
    }
  });
}

TEST_P(Downpour, without_center_momentum_is_downpour_with_tau_one) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02, .uneven = true};
    BegunWorker pushes(transport, "downpour", in_turns({{"tau", "1"}}), problem, 100),
        sends(transport, "mdownpour", in_turns({{"center-momentum", "0"}}), problem, 100);
    const std::vector<float> c = pushes.consensus();
    expect_near(sends.consensus(), Doubles(c.begin(), c.end()), 1e-5);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Downpour, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
