// OuterOptimizer's step, and the options, warnings and stability limits of the methods that use it.
#include "communicator/outer/outer_optimizer.h"

#include <algorithm>
#include <cmath>

#include "eave/agreement.h"
#include "eave/check.h"
#include "test/communicator/averaging_simulator.h"
#include "test/communicator/told.h"
#include "test/expectations.h"

namespace eave {
namespace {

constexpr double kMomenta[] = {0, 0.3, 0.5, 0.9};

std::unique_ptr<Communicator> make(Transport& transport, const std::string& name, const Given& given,
                                   std::vector<std::string>& warnings, std::int64_t steps = 0,
                                   const Given& settings = {}) {
  const CommunicatorKind& kind = find_kind(communicator_kinds(), name);
  const OptionValues values = values_of(kind.options, given);
  return kind.make({transport, values, 0.1, warnings, steps, 0, 1, settings});
}

// The warnings of rank 0 when it makes the method, in one text.
std::string warnings_of(const std::string& name, const Given& given, std::int64_t steps = 0,
                        const Given& settings = {}) {
  std::string text;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    std::vector<std::string> warnings;
    make(transport, name, given, warnings, steps, settings);
    for (const std::string& warning : warnings) text += warning + "\n";
  });
  return text;
}

// All values are whole numbers or halves, so nothing is rounded.
TEST(OuterOptimizer, takes_the_step_of_its_equation_exactly) {
  OuterOptimizer outer(0.5);
  outer.begin(cpu_device(), std::vector<float>(1000, 64));
  double c = 64, v = 0;
  std::vector<float> mean(1000, 56);
  for (const OuterStep& step : {OuterStep{0.5, 2, 1, 0}, OuterStep{0.5, 1, 2, 0.5}, OuterStep{1, 0, 0, 0.25}}) {
    const double gradient = c - 0.5 * v - mean[0];
    v = step.momentum * v + step.scale * gradient;
    c -= step.velocity_rate * v + step.gradient_rate * gradient;
    outer.step(mean, step);
    EXPECT_EQ(mean, std::vector<float>(1000, static_cast<float>(c - 0.5 * v)));
    EXPECT_TRUE(std::ranges::all_of(outer.center(), [&](float each) { return each == static_cast<float>(c); }));
    EXPECT_TRUE(std::ranges::all_of(outer.velocity(), [&](float each) { return each == static_cast<float>(v); }));
    for (float& value : mean) value -= 8;
  }
}

TEST(OuterOptimizer, leaves_the_mean_of_plain_averaging_to_the_bit_whatever_the_center_was) {
  const Problem problem{.size = 1003};
  OuterOptimizer outer(0);
  outer.begin(cpu_device(), problem.random_floats(5));
  std::vector<float> mean = problem.random_floats(6);
  mean[0] = -0.0f;
  mean[1] = 1e-40f;
  mean[2] = 1e30f;
  const std::vector<float> before = mean;
  outer.step(mean, {.momentum = 0, .scale = 1});
  EXPECT_EQ(bytes_of(mean), bytes_of(before));
  outer.step(mean, {.momentum = 0, .velocity_rate = 0, .gradient_rate = 1});
  EXPECT_EQ(bytes_of(mean), bytes_of(before));
}

// Runs `exchanges` exchanges from 1. Between two of them the worker moves the share `share` of its way to the minimum,
// 0. Returns the center's largest distance from 0 at the end.
double distance_after(const std::string& name, const Given& given, double share, int exchanges) {
  double largest = 0;
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    std::vector<std::string> warnings;
    const auto communicator = make(transport, name, given, warnings);
    std::vector<float> x(3, 1), g(3);
    communicator->begin({x, g, {}, {}});
    for (std::int64_t t = 0; t < exchanges && std::abs(x[0]) < 1e6; ++t) {
      for (float& value : x) value -= static_cast<float>(share) * value;
      communicator->after_update({t, 1, 1, 0.1});
    }
    for (const float value : communicator->consensus()) largest = std::max(largest, std::abs(double{value}));
  });
  return largest;
}

void expect_turning_point(const std::string& name, const std::string& rate, const Given& momentum, double limit) {
  for (const double share : {1.0, 0.75}) {
    const auto at = [&](double factor) {
      Given given = momentum;
      given.insert(given.end(), {{"tau", "1"}, {rate, std::to_string(factor * limit / share)}});
      return distance_after(name, given, share, 600);
    };
    SCOPED_TRACE(name + " " + momentum[0].second + " at " + std::to_string(limit) + ", share " + std::to_string(share));
    EXPECT_LT(at(0.97), 0.01);
    EXPECT_GT(at(1.03), 100);
  }
}

TEST(OuterStability, converges_just_inside_the_bound_and_diverges_just_outside) {
  for (const double m : kMomenta) {
    const std::string momentum = std::to_string(m);
    expect_turning_point("bmuf", "block-rate", {{"block-momentum", momentum}}, 2 * (1 + m));
    expect_turning_point("slowmo", "slowmo-rate", {{"slowmo-momentum", momentum}}, 2 * (1 + m));
    expect_turning_point("diloco", "outer-rate", {{"outer-momentum", momentum}}, 2 * (1 + m) / (1 + 2 * m));
    if (m == 0) continue;
    expect_turning_point("bmuf", "block-rate", {{"block-momentum", momentum}, {"block-nesterov", "on"}},
                         2 * (1 + m) / (1 + 2 * m));
  }
}

TEST(OuterStability, is_on_the_card_and_warned_of_from_the_bound_on) {
  const std::vector<std::tuple<std::string, Given, std::string, std::string>> each = {
      {"bmuf", {{"block-momentum", "0.5"}}, "block-rate", "2 (1 + eta_b) = 3"},
      {"bmuf",
       {{"block-momentum", "0.5"}, {"block-nesterov", "on"}},
       "block-rate",
       "2 (1 + eta_b) / (1 + 2 eta_b) = 1.5"},
      {"slowmo", {{"slowmo-momentum", "0.5"}}, "slowmo-rate", "2 (1 + beta_s) = 3"},
      {"diloco", {{"outer-momentum", "0.5"}}, "outer-rate", "2 (1 + mu) / (1 + 2 mu) = 1.5"}};
  for (const auto& [name, given, rate, limit] : each) {
    Given inside = given, outside = given;
    inside.emplace_back(rate, "1.49");
    outside.emplace_back(rate, "3");
    EXPECT_EQ(warnings_of(name, inside), "");
    EXPECT_TRUE(says(warnings_of(name, outside), "--" + rate + " is 3 and must be below " + limit));
    on_ranks({"loopback", 1}, [&](Transport& transport) {
      std::vector<std::string> warnings;
      const std::string card = make(transport, name, inside, warnings)->equation();
      EXPECT_TRUE(says(card, "< " + limit));
    });
  }
}

// The learning rate differs from exchange to exchange. The velocity u keeps the scale of a gradient.
TEST(Slowmo, follows_its_equation_under_a_schedule_and_steps_by_a_G_where_the_rate_is_0) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    std::vector<std::string> warnings;
    const auto slowmo =
        make(transport, "slowmo", {{"tau", "1"}, {"slowmo-momentum", "0.5"}, {"slowmo-rate", "0.75"}}, warnings);
    std::vector<float> x(3, 1), g(3);
    slowmo->begin({x, g, {}, {}});
    double c = 1, u = 0;
    std::int64_t t = 0;
    for (const double rate : {0.5, 0.25, 0.0, 0.125, 1e-42, 0.0625}) {
      for (float& value : x) value -= 0.25f;
      slowmo->after_update({t++, 1, 1, rate});
      if (rate > 1e-38) u = 0.5 * u + 0.25 / rate;
      c -= rate > 1e-38 ? 0.75 * rate * u : 0.75 * 0.25;
      for (const float value : x) EXPECT_NEAR(value, c, 1e-6) << rate;
      const Slice velocity = slowmo->state()[1];
      for (const float value : velocity) EXPECT_NEAR(value, u, 1e-6) << rate;
    }
  });
}

TEST(OuterAtRateZero, methods_stay_where_they_are) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    for (const std::string name : {"bmuf", "slowmo", "diloco"}) {
      const Problem problem{.size = 36, .learning_rate = 0, .uneven = true};
      BegunWorker worker(transport, name, {{"tau", "2"}}, problem, 20);
      const std::vector<float> start = problem.start();
      for (std::size_t k = 0; k < start.size(); ++k) EXPECT_NEAR(worker.x[k], start[k], 1e-5) << name;
      EXPECT_TRUE(same_on_all_ranks(transport, worker.consensus()));
    }
  });
}

TEST(OuterInput, out_of_range_is_refused_on_all_ranks_with_what_would_be_right) {
  const std::vector<std::array<std::string, 3>> methods = {{"bmuf", "block-momentum", "block-rate"},
                                                           {"slowmo", "slowmo-momentum", "slowmo-rate"},
                                                           {"diloco", "outer-momentum", "outer-rate"}};
  for (const auto& [name, momentum, rate] : methods) {
    for (const char* text : {"-0.1", "1", "1.5"}) expect_refused(name, 2, {{momentum, text}}, "at least 0 and below 1");
    for (const char* text : {"0", "-1"}) expect_refused(name, 2, {{"tau", text}}, "--tau");
    expect_refused(name, 2, {{"tau-warmup", "-1"}}, "--tau-warmup");
    expect_refused(name, 2, {{"tau", "1"}, {"tau-warmup", "5"}}, "has no effect with --tau 1");
    for (const char* text : {"0", "-1", "1e7", "1e300"})
      expect_refused(name, 2, {{rate, text}}, "--" + rate + " " + text);
  }
  expect_refused("bmuf", 2, {{"block-nesterov", "on"}, {"block-momentum", "0"}}, "has no effect");
}

TEST(OuterInput, momentum_that_the_optimizer_has_not_is_refused) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    for (const std::string name : {"bmuf", "slowmo", "diloco"}) {
      Worker worker(transport, name, {{"worker-momentum", "reset"}}, {});
      EXPECT_THROW(worker.begin(), AgreedError);
    }
  });
}

TEST(OuterInput, warns_where_no_exchange_will_come_and_of_diloco_without_adamw) {
  for (const std::string name : {"bmuf", "slowmo", "diloco"}) {
    EXPECT_TRUE(says(warnings_of(name, {{"tau", "10"}}, 9), "no exchange will take place in 9 steps"));
    EXPECT_EQ(warnings_of(name, {{"tau", "10"}}, 10), "");
    EXPECT_EQ(warnings_of(name, {{"tau", "10"}, {"tau-warmup", "2"}}, 9), "");
  }
  EXPECT_TRUE(says(warnings_of("diloco", {}, 499), "--tau 500"));
  EXPECT_TRUE(says(warnings_of("diloco", {}, 0, {{"optimizer", "sgd"}}), "--optimizer sgd"));
  EXPECT_EQ(warnings_of("diloco", {}, 0, {{"optimizer", "adamw"}}), "");
  EXPECT_EQ(warnings_of("bmuf", {}, 0, {{"optimizer", "sgd"}}), "");
}

TEST(OuterCard, has_the_numbers_in_force) {
  const auto expect = [](const std::string& name, const Given& given, const std::string& words) {
    EXPECT_TRUE(says(told(name, 4, given).card, words));
  };
  expect("bmuf", {}, "tau = 10, eta_b = 0.75 (1 - 1/p), zeta = 1, p = 4 workers; worker momentum stays local");
  expect("bmuf", {{"block-momentum", "0.25"}, {"block-rate", "0.5"}}, "eta_b = 0.25, zeta = 0.5,");
  expect("bmuf", {{"block-nesterov", "on"}}, "G = (c - eta_b v) - sum_j");
  expect("bmuf", {{"block-nesterov", "on"}}, "x_i <- c - eta_b v");
  expect("slowmo", {}, "tau = 10, beta_s = 0.7, a = 1, p = 4 workers");
  expect("diloco", {{"tau-warmup", "3"}}, "tau = 500, rho = 0.7, mu = 0.9, p = 4 workers");
  expect("diloco", {{"tau-warmup", "3"}}, "tau = 1 in the first 3 steps");
}

}  // namespace
}  // namespace eave
