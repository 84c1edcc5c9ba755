// asgd and mvasgd: SGD on one rank that evaluates an average of its iterates.
#include <gtest/gtest.h>

#include "test/communicator/center/free_runs.h"
#include "test/communicator/simulator.h"
#include "test/expectations.h"

namespace eave {
namespace {

const Ranks kAlone = {"loopback", 1};

// The average z of a worker's iterates, in double.
struct DoubleAverage {
  explicit DoubleAverage(const std::vector<float>& x, double rate_ = 0) : z(x.begin(), x.end()), rate(rate_) {}
  void add(const std::vector<float>& x) {
    const double a = rate > 0 ? rate : 1 / static_cast<double>(++steps + 1);
    for (std::size_t k = 0; k < z.size(); ++k) z[k] = (1 - a) * z[k] + a * static_cast<double>(x[k]);
  }
  Doubles z;
  double rate;
  std::int64_t steps = 0;
};

TEST(SequentialAverage, follows_the_iterates_of_any_optimizer_in_double_for_100_steps) {
  on_ranks(kAlone, [](Transport& transport) {
    for (const Problem& problem : {Problem{}, Problem{.momentum = 0.9}, Problem{.momentum = 0.9, .nesterov = true},
                                   Problem{.momentum = 0.5, .network = true}}) {
      for (const double rate : {0.0, 0.05, 0.001}) {
        BegunWorker worker(transport, rate > 0 ? "mvasgd" : "asgd",
                           rate > 0 ? Given{{"average-rate", std::to_string(rate)}} : Given{}, problem);
        DoubleAverage average(worker.x, rate);
        for (int step = 0; step < 100; ++step) {
          worker.step();
          average.add(worker.iterate());
        }
        expect_near(worker.consensus(), average.z, 1e-6);
      }
    }
  });
}

TEST(SequentialAverage, leaves_the_training_alone) {
  on_ranks(kAlone, [](Transport& transport) {
    const Problem problem{.momentum = 0.9};
    BegunWorker sgd(transport, "none", {}, problem, 50), mean(transport, "asgd", {}, problem, 50),
        moving(transport, "mvasgd", {{"average-rate", "1"}}, problem, 50);
    EXPECT_EQ(mean.x, sgd.x);
    EXPECT_EQ(moving.x, sgd.x);
    EXPECT_EQ(moving.consensus(), sgd.x) << "at rate one";
    EXPECT_NE(mean.consensus(), sgd.x);
  });
}

// The iterates are 0, 1, ..., t. So after t steps their mean is t/2.
TEST(SequentialAverage, is_the_mean_of_all_iterates_and_of_the_beginning) {
  std::vector<float> z(40), rest(40);
  for (int t = 1; t <= 1000; ++t) {
    cpu_device().move_average(z, rest, std::vector<float>(40, static_cast<float>(t)), 1 / static_cast<float>(t + 1));
    ASSERT_NEAR(z[17], t / 2.0, 1e-6 * t) << t;
  }
}

// A plain average in float stops when its increments are smaller than half a unit of its last bit. Here it would stay
// near 1 although x is 1.02.
TEST(SequentialAverage, does_not_stand_still_after_a_million_steps) {
  std::vector<float> z(16, 1.0f), rest(16);
  const std::vector<float> x(16, 1.02f);
  float plain = 1;
  double exact = 1;
  for (int t = 1'000'000; t < 3'000'000; ++t) {
    const float share = static_cast<float>(1 / (t + 1.0));
    cpu_device().move_average(z, rest, x, share);
    plain = (1 - share) * plain + share * x[0];
    exact += (static_cast<double>(x[0]) - exact) / (t + 1.0);
  }
  EXPECT_NEAR(exact, 1.0133333, 1e-6);
  EXPECT_NEAR(z[3], exact, 1e-6);
  EXPECT_GT(std::abs(static_cast<double>(plain) - exact), 1e-4) << "the plain average is as good: why keep a rest?";
}

TEST(SequentialAverage, is_refused_with_more_than_one_rank) {
  for (const char* name : {"asgd", "mvasgd"}) {
    for (const int ranks : {2, 3}) expect_refused(name, ranks, {}, "the job has " + std::to_string(ranks));
    EXPECT_EQ(told(name, 1, {}).refusal, "");
    EXPECT_TRUE(find_kind(communicator_kinds(), name).traits.only_one_rank);
  }
}

TEST(SequentialAverage, refuses_a_rate_that_is_no_share) {
  for (const char* rate : {"0", "-1", "1.5"})
    expect_refused("mvasgd", 1, {{"average-rate", rate}}, "expected a share above 0 and at most 1");
}

TEST(SequentialAverage, states_its_formula) {
  EXPECT_TRUE(says(told("asgd", 1, {}).card, "a = 1/(t + 1)"));
  EXPECT_TRUE(says(told("mvasgd", 1, {{"average-rate", "0.02"}}).card, "a = 0.02"));
}

}  // namespace
}  // namespace eave
