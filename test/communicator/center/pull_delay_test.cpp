// --pull-delay of easgd-async: a worker is pulled some steps after its exchange. easgd_async_test.cpp compares this
// with the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "eave/decorators.h"
#include "test/communicator/exchanges.h"
#include "test/communicator/simulator.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

Given late(const char* tau, const char* delay, const char* alpha = "0.2") {
  return {{"tau", tau}, {"pull-delay", delay}, {"alpha", alpha}, {"async-order", "round-robin"}, {"shard-bytes", "64"}};
}

class PullDelay : public testing::TestWithParam<Ranks> {};

TEST_P(PullDelay, is_below_tau) {
  on_ranks(GetParam(), [](Transport& transport) {
    EXPECT_NO_THROW(Worker(transport, "easgd-async", late("3", "2"), {}));
    for (const char* wrong : {"3", "-1"})
      expect_error(ExitCode::kUsage, "pull-delay", [&] { Worker(transport, "easgd-async", late("3", wrong), {}); });
  });
}

TEST_P(PullDelay, has_the_same_bits_with_overlap_and_without) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true, .uneven = true};
    Given at_once = late("3", "1");
    at_once.emplace_back("async-overlap", "off");
    Worker behind(transport, "easgd-async", late("3", "1"), problem),
        waiting(transport, "easgd-async", at_once, problem);
    behind.begin();
    behind.run(20);
    const std::vector<float> center = behind.consensus();
    behind.communicator().finish();
    waiting.begin();
    waiting.run(20);
    EXPECT_EQ(waiting.x, behind.x);
    EXPECT_EQ(waiting.consensus(), center);
    waiting.communicator().finish();
  });
}

// The steepest curvature, h = 1.4, has G = (1 - lr h)^4 = 0.3^4. For an odd number of workers the bound on alpha is
// (2 + 2 G)/(3 + G) = 0.670. For two workers it is 0.711; other even numbers lie between.
TEST_P(PullDelay, converges_inside_the_bound_and_diverges_outside) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const auto& [alpha, is_stable] : {std::pair{"0.64", true}, std::pair{"0.74", false}}) {
      Given given = late("4", "3", alpha);
      given.emplace_back("allow-unstable", "on");
      BegunWorker worker(transport, "easgd-async", given, {.learning_rate = 0.5}, 2000);
      const std::vector<float> center = worker.consensus();
      const bool is_small = std::ranges::all_of(center, [](float value) { return std::abs(value) < 10; });
      EXPECT_EQ(is_small, is_stable) << alpha;
      worker.communicator().finish();
    }
  });
}

TEST_P(PullDelay, warns_beyond_two_thirds) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const auto& [delay, alpha, warns] :
         {std::tuple{"3", "0.66", false}, {"3", "0.7", true}, {"0", "0.7", false}, {"0", "1.1", true}}) {
      const Worker worker(transport, "easgd-async", late("4", delay, alpha), {.steps = 100});
      EXPECT_EQ(std::ranges::any_of(worker.warnings,
                                    [](const std::string& text) { return text.find("unstable") != std::string::npos; }),
                warns && transport.rank() == 0)
          << delay << " " << alpha;
    }
  });
}

// With alpha = 1 an exchange and its pull swap worker and center, so whole numbers stay whole. After an even number of
// steps every pull has been applied. After an odd number no array holds the center value that was taken first, and
// another value is there more than once. Values are scaled by powers of ten, so that no other values have the same sum.
TEST_P(PullDelay, conserves_the_sum_of_workers_and_center_exactly_once_all_are_pulled) {
  on_ranks(GetParam(), [](Transport& transport) {
    Given given = {{"tau", "2"}, {"pull-delay", "1"}, {"alpha", "1"}, {"shard-bytes", "64"}, {"allow-unstable", "on"}};
    Worker worker(transport, "easgd-async", given, {.size = 100, .learning_rate = 0});
    for (std::size_t k = 0; k < 100; ++k) worker.x[k] = static_cast<float>(3 * k);  // the center begins at rank 0's x
    worker.begin();
    const double scale = std::pow(10, transport.rank());
    for (std::size_t k = 0; k < 100; ++k) worker.x[k] = static_cast<float>(1 + static_cast<double>(k) * scale);
    const Doubles before = sum_with_center(transport, worker);
    worker.run(25);
    const Doubles without_a_pull = sum_with_center(transport, worker);
    worker.run(1);
    EXPECT_NE(without_a_pull, before);
    EXPECT_EQ(sum_with_center(transport, worker), before);
    worker.communicator().finish();
  });
}

TEST_P(PullDelay, is_forgotten_where_workers_begin_anew_from_the_center) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02, .momentum = 0.8, .uneven = true, .network = true};
    Simulator simulator(problem, transport.size());
    BegunWorker worker(transport, "easgd-async", late("5", "4"), problem);
    worker.run(33, [&](std::int64_t t) { simulator.round_robin_step(t, 0.2, 5, 4); });
    worker.reset_to_center();
    simulator.reset_to_center();
    worker.run(27, [&](std::int64_t t) { simulator.round_robin_step(t, 0.2, 5, 4); });
    expect_near(worker.x, simulator.x[me(transport)], 3e-5);
    expect_near(worker.consensus(), simulator.c, 3e-5);
    worker.communicator().finish();
  });
}

// Collective. The seconds of waiting in three parts: in the step of an exchange, in the next four steps, and in the
// step after them.
std::vector<double> waits(Transport& transport, const char* delay) {
  const auto slow = make_shaped_transport(transport, {.delay_seconds = kDelay, .bytes_per_second = 0});
  Worker worker(*slow, "easgd-async", {{"tau", "6"}, {"pull-delay", delay}, {"shard-bytes", "64"}}, {});
  worker.begin();
  worker.run(6);  // the center opens in the first step
  const auto seconds_of = [&](std::int64_t steps) {
    const double before = worker.communicator().costs().seconds_waiting;
    worker.run(steps);
    return worker.communicator().costs().seconds_waiting - before;
  };
  const std::vector<double> seconds = {seconds_of(1), seconds_of(4), seconds_of(1)};
  worker.communicator().finish();
  return seconds;
}

TEST(PullDelayOnSlowLinks, lets_no_step_wait_before_the_pull) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const std::vector<double> at_once = waits(transport, "0"), later = waits(transport, "5");
    EXPECT_GT(at_once[0], kDelay);
    EXPECT_EQ(at_once[1] + at_once[2], 0);
    EXPECT_EQ(later[0] + later[1], 0);
    EXPECT_GT(later[2], kDelay);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, PullDelay, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
