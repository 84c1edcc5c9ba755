// The methods with an outer optimizer (bmuf, slowmo, diloco) against simulators in double.

#include "communicator/outer/worker_momentum.h"
#include "test/communicator/averaging_simulator.h"
#include "test/communicator/recording_transport.h"

namespace eave {
namespace {

// A method with its options, and the simulator's step with the same numbers.
struct OuterMethod {
  std::string name;
  Given given;
  std::function<void(AveragingSimulator&, std::int64_t t, std::int64_t tau, const std::string& momentum)> simulate;
};

OuterMethod bmuf(const Given& given, std::function<double(double)> eta, double zeta, bool nesterov) {
  return {"bmuf", given, [=](AveragingSimulator& simulator, auto t, auto tau, const auto& momentum) {
            simulator.bmuf_step(t, tau, eta(static_cast<double>(simulator.p)), zeta, nesterov, momentum);
          }};
}

OuterMethod slowmo(const Given& given, double beta, double a) {
  return {"slowmo", given, [=](AveragingSimulator& simulator, auto t, auto tau, const auto& momentum) {
            simulator.slowmo_step(t, tau, beta, a, momentum);
          }};
}

OuterMethod diloco(const Given& given, double rate, double mu) {
  return {"diloco", given, [=](AveragingSimulator& simulator, auto t, auto tau, const auto& momentum) {
            simulator.diloco_step(t, tau, rate, mu, momentum);
          }};
}

std::vector<OuterMethod> outer_methods() {
  const auto by_ranks = [](double p) { return 1 - 1 / p; };
  const auto third = [](double) { return 0.3; };
  return {bmuf({}, by_ranks, 1, false),
          bmuf({{"block-nesterov", "on"}}, by_ranks, 1, true),
          bmuf({{"block-momentum", "0.3"}, {"block-rate", "0.8"}}, third, 0.8, false),
          bmuf({{"block-momentum", "0.3"}, {"block-rate", "1.2"}, {"block-nesterov", "on"}}, third, 1.2, true),
          slowmo({}, 0.7, 1),
          slowmo({{"slowmo-momentum", "0.4"}, {"slowmo-rate", "0.8"}}, 0.4, 0.8),
          diloco({}, 0.7, 0.9),
          diloco({{"outer-rate", "0.9"}, {"outer-momentum", "0.5"}}, 0.9, 0.5)};
}

std::string describe(const OuterMethod& method) {
  std::string text = method.name;
  for (const auto& [name, value] : method.given) text += " --" + name + " " + value;
  return text;
}

// The outer methods with options that make each of them plain averaging.
std::vector<std::pair<std::string, Given>> plain_averaging() {
  return {{"bmuf", {{"block-momentum", "0"}, {"block-rate", "1"}}},
          {"slowmo", {{"slowmo-momentum", "0"}, {"slowmo-rate", "1"}}},
          {"diloco", {{"outer-momentum", "0"}, {"outer-rate", "1"}}}};
}

class Outer : public testing::TestWithParam<Ranks> {};

// An outer momentum of 0.9 keeps each rounding error for about ten exchanges. So the tolerance is ten times that of
// plain averaging.
TEST_P(Outer, follows_the_simulator_for_100_steps_with_every_treatment_of_momentum) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const OuterMethod& method : outer_methods()) {
      for (const AveragingCourse& course : averaging_courses()) {
        for (const std::string momentum : {"local", "average", "reset"}) {
          if (course.momentum == 0 && momentum != "local") continue;
          SCOPED_TRACE(describe(method) + ", " + course.describe() + ", " + momentum);
          Problem problem = course.problem();
          if (course.momentum > 0) problem.learning_rate = 0.003;  // two momenta in a row would swing far at 0.05
          AveragingSimulator simulator(problem, transport.size());
          BegunWorker worker(transport, method.name,
                             with(method.given, {{"tau", std::to_string(course.tau)}, {"worker-momentum", momentum}}),
                             problem);
          worker.run(100, [&](std::int64_t t) { method.simulate(simulator, t, course.tau, momentum); });
          expect_near(worker.x, simulator.x[me(transport)], 1e-4);
          expect_near(worker.consensus(), simulator.c, 1e-4);
        }
      }
    }
  });
}

TEST(OuterMethods, differ_from_each_other_by_far_more_than_the_tolerance_above) {
  std::vector<Doubles> centers;
  for (const OuterMethod& method : outer_methods()) {
    AveragingSimulator simulator(averaging_courses().front().problem(), 3);
    for (std::int64_t t = 0; t < 8; ++t) method.simulate(simulator, t, 2, "local");
    centers.push_back(simulator.c);
  }
  expect_apart(centers, 1e-2);
}

TEST_P(Outer, with_momentum_0_and_rate_1_has_the_bits_of_local_sgd) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const auto& [name, numbers] : plain_averaging()) {
      for (const AveragingCourse& course : averaging_courses()) {
        SCOPED_TRACE(name + ", " + course.describe());
        const Given tau = {{"tau", std::to_string(course.tau)}};
        BegunWorker outer(transport, name, with(numbers, tau), course.problem()),
            local(transport, "local-sgd", tau, course.problem());
        for (std::int64_t t = 0; t < 40; ++t) {
          outer.step();
          local.step();
          ASSERT_EQ(bytes_of(outer.x), bytes_of(local.x)) << t;
          if ((t + 1) % course.tau != 0) continue;
          ASSERT_EQ(bytes_of(outer.consensus()), bytes_of(local.consensus())) << t;
        }
      }
    }
  });
}

// Block momentum moves the center to the point where the workers began. With rate 1, the rest of the step moves it to
// their mean.
TEST_P(Outer, bmuf_with_nesterov_and_rate_1_holds_the_mean_of_the_workers_as_center_bit_by_bit) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 3) return;  // thirds are rounded
    BegunWorker worker(transport, "bmuf", {{"tau", "1"}, {"block-momentum", "0.3"}, {"block-nesterov", "on"}}, {});
    for (int exchange = 0; exchange < 5; ++exchange) {
      const auto rank = static_cast<float>(transport.rank()), at = static_cast<float>(12 * exchange);
      worker.x.assign(37, at + 2 * rank);
      worker.communicator().after_update({exchange, 2, 2 * transport.size(), 0.1});
      EXPECT_EQ(worker.consensus(), std::vector<float>(37, at + static_cast<float>(transport.size() - 1)));
      EXPECT_NE(worker.x, worker.consensus());
    }
  });
}

TEST_P(Outer, bmuf_of_one_worker_is_the_worker_alone) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() > 1) return;
    for (const AveragingCourse& course : averaging_courses()) {
      BegunWorker outer(transport, "bmuf", {{"tau", std::to_string(course.tau)}}, course.problem(), 40),
          alone(transport, "none", {}, course.problem(), 40);
      EXPECT_EQ(outer.x, alone.x) << course.describe();
    }
  });
}

// Checks the sign: if the workers have moved up, the center moves up by as much as the method's equation says.
TEST_P(Outer, moves_the_center_the_way_the_workers_went) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const OuterMethod& method : outer_methods()) {
      BegunWorker worker(transport, method.name, with(method.given, {{"tau", "2"}}), {});
      const std::vector<float> start = worker.x;
      for (float& value : worker.x) value += 1;
      for (std::int64_t t = 0; t < 2; ++t) worker.communicator().after_update({t, 2, 2 * transport.size(), 0.1});
      const std::vector<float> center = worker.consensus();
      for (std::size_t k = 0; k < start.size(); ++k) EXPECT_GT(center[k], start[k] + 0.5) << describe(method);
    }
  });
}

TEST_P(Outer, follows_the_simulator_with_an_exchange_after_every_step_of_the_warm_up) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const OuterMethod& method : outer_methods()) {
      SCOPED_TRACE(describe(method));
      const Problem problem{.learning_rate = 0.05, .uneven = true};
      AveragingSimulator simulator(problem, transport.size());
      RecordingTransport recording(transport);
      BegunWorker worker(recording, method.name, with(method.given, {{"tau", "4"}, {"tau-warmup", "8"}}), problem);
      std::string exchanges;
      for (std::int64_t t = 0; t < 20; ++t) {
        recording.calls.clear();
        worker.step();
        exchanges += recording.calls.empty() ? '.' : 'x';
        method.simulate(simulator, t, t < 8 ? 1 : 4, "local");
      }
      EXPECT_EQ(exchanges, "xxxxxxxx...x...x...x");
      expect_near(worker.x, simulator.x[me(transport)]);
    }
  });
}

TEST_P(Outer, exchanges_in_one_allreduce_and_one_more_for_each_vector_that_is_averaged) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string method : {"bmuf", "slowmo", "diloco"}) {
      for (const std::string momentum : {"local", "reset", "average"}) {
        RecordingTransport recording(transport);
        BegunWorker worker(recording, method, {{"tau", "5"}, {"worker-momentum", momentum}}, {.momentum = 0.9});
        recording.calls.clear();
        worker.run(4);
        worker.consensus();
        EXPECT_EQ(recording.text(), "");
        worker.run(1);
        EXPECT_EQ(recording.text(), momentum == "average" ? "sum 37\nsum 37\n" : "sum 37\n");
      }
    }
  });
}

TEST_P(Outer, leaves_steps_before_an_exchange_with_the_bits_of_none_and_the_center_where_it_was) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string method : {"bmuf", "slowmo", "diloco"}) {
      const Problem problem{.momentum = 0.9, .uneven = true};
      BegunWorker outer(transport, method, {{"tau", "9"}}, problem), alone(transport, "none", {}, problem);
      for (int t = 0; t < 8; ++t) {
        outer.step();
        alone.step();
        EXPECT_EQ(outer.x, alone.x) << t;
        EXPECT_EQ(outer.consensus(), problem.start());
      }
    }
  });
}

TEST_P(Outer, resumes_in_the_middle_of_anything_with_the_same_bits) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02, .momentum = 0.9, .uneven = true};
    for (const OuterMethod& method : outer_methods()) {
      const Given given = with(method.given, {{"tau", "7"}, {"tau-warmup", "5"}, {"worker-momentum", "average"}});
      SCOPED_TRACE(describe(method));
      for (std::int64_t at : {2, 5, 9, 31}) expect_to_resume(transport, method.name, given, problem, 60, at);
    }
  });
}

// In a run with another number of ranks, rank r brings a velocity that is 5, and 2 r at one place. top-k drops no part
// of it.
TEST_P(Outer, takes_momentum_into_a_run_on_other_ranks_under_compression) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1 || transport.size() == 3) return;  // nothing is compressed; thirds are rounded
    const CodecKind& top_k = find_kind(codec_kinds(), "top-k");
    MomentumExchange momentum(transport, WorkerMomentum::kAverage, top_k.make(values_of(top_k.options, {})), 1);
    std::vector<float> x(37), g(37), velocity(37);
    momentum.begin({.parameters = x, .gradients = g, .statistics = {}, .optimizer = {velocity}});
    std::ranges::fill(velocity, 5.0F);
    velocity[3] = 2 * static_cast<float>(transport.rank());
    WeightedMean mean(transport);
    momentum.join(mean);
    momentum.exchange(mean);
    std::vector<float> expected(37, 5.0F);
    expected[3] = static_cast<float>(transport.size() - 1);
    EXPECT_EQ(velocity, expected);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Outer, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
