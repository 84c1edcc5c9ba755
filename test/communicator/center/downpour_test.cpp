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

Given in_turns(const Given& more) {
  Given given = {{"async-order", "round-robin"}, {"shard-bytes", "64"}};
  given.insert(given.end(), more.begin(), more.end());
  return given;
}

class Downpour : public testing::TestWithParam<Ranks> {};

// Float against double, at values of order 1. The trainings contract, so rounding errors do not accumulate.
TEST_P(Downpour, in_turns_follows_the_simulator_in_double_for_100_steps) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const Course& course : kCourses) {
      const Given tau = {{"tau", std::to_string(course.tau)}};
      Given averaged = tau;
      averaged.emplace_back("average-rate", "0.03");
      for (const auto& [name, given, rate] :
           {std::tuple{"downpour", tau, 0.0}, {"adownpour", tau, 0.0}, {"mvadownpour", averaged, 0.03}}) {
        SCOPED_TRACE(std::string(name) + " tau " + std::to_string(course.tau));
        DownpourSimulator simulator(course.problem(), transport.size());
        Worker worker(transport, name, in_turns(given), course.problem());
        worker.begin();
        for (std::int64_t t = 0; t < 100; ++t) {
          worker.step();
          simulator.push_step(t, course.tau, rate);
        }
        expect_near(worker.iterate(), simulator.x[static_cast<std::size_t>(transport.rank())], 2e-5);
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
          Worker worker(transport, "mdownpour",
                        in_turns({{"center-momentum", std::to_string(delta)}, {"weight-decay", decay}}), problem);
          worker.begin();
          for (std::int64_t t = 0; t < 100; ++t) {
            worker.step();
            simulator.gradient_step(t, delta, std::stod(decay));
          }
          expect_near(worker.x, simulator.x[static_cast<std::size_t>(transport.rank())], 5e-5);
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
      Worker worker(transport, name, in_turns(given), problem);
      worker.begin();
      for (std::int64_t t = 0; t < 50; ++t) {
        worker.step();
        has_tau ? simulator.push_step(t, 3, 0) : simulator.gradient_step(t, 0.5, 0);
      }
      expect_near(worker.consensus(), name == std::string("adownpour") ? simulator.z : simulator.c, 1e-5);
      worker.communicator().finish();
    }
  });
}

// The methods in float, in one thread: one worker after another, with the operations in the order of the equations.
struct FloatSimulator {
  FloatSimulator(const Problem& p, int ranks)
      : problem(p), x(static_cast<std::size_t>(ranks), p.start()), b(x), c(p.start()), u(c.size()) {}

  float gradient(std::size_t i, std::size_t k) const {
    const double target = static_cast<double>(problem.target(static_cast<int>(i))[k]);
    return static_cast<float>(problem.curvature(k) * (static_cast<double>(x[i][k]) - target));
  }
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
  Problem problem;
  float rate = static_cast<float>(problem.learning_rate);
  std::vector<std::vector<float>> x, b;
  std::vector<float> c, u;
};

TEST_P(Downpour, in_turns_has_the_bits_of_the_simulator) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02};
    FloatSimulator plain(problem, transport.size()), nesterov(problem, transport.size());
    Worker downpour(transport, "downpour", in_turns({{"tau", "3"}}), problem);
    downpour.begin();
    for (std::int64_t t = 0; t < 100; ++t) {
      downpour.step();
      plain.push_step(t, 3);
    }
    EXPECT_EQ(downpour.consensus(), plain.c);
    EXPECT_EQ(downpour.x, plain.x[static_cast<std::size_t>(transport.rank())]);
    downpour.communicator().finish();
    Worker mdownpour(transport, "mdownpour", in_turns({{"center-momentum", "0.5"}}), problem);
    mdownpour.begin();
    for (std::int64_t t = 0; t < 100; ++t) {
      mdownpour.step();
      nesterov.gradient_step(0.5f);
    }
    EXPECT_EQ(mdownpour.consensus(), nesterov.c);
    EXPECT_EQ(mdownpour.x, nesterov.x[static_cast<std::size_t>(transport.rank())]);
    mdownpour.communicator().finish();
  });
}

TEST_P(Downpour, averaged_at_rate_one_shows_the_center_of_downpour_and_moves_no_worker_otherwise) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02, .momentum = 0.5, .uneven = true};
    const Given tau = in_turns({{"tau", "3"}});
    Given always = tau, rarely = tau;
    always.emplace_back("average-rate", "1");
    rarely.emplace_back("average-rate", "0.001");
    Worker downpour(transport, "downpour", tau, problem), moved(transport, "mvadownpour", always, problem),
        averaged(transport, "mvadownpour", rarely, problem), mean(transport, "adownpour", tau, problem);
    for (Worker* each : {&downpour, &moved, &averaged, &mean}) {
      each->begin();
      each->run(40);
    }
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
    Worker pushes(transport, "downpour", in_turns({{"tau", "1"}}), problem),
        sends(transport, "mdownpour", in_turns({{"center-momentum", "0"}}), problem);
    for (Worker* each : {&pushes, &sends}) {
      each->begin();
      each->run(100);
    }
    const std::vector<float> c = pushes.consensus();
    expect_near(sends.consensus(), Doubles(c.begin(), c.end()), 1e-5);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Downpour, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
