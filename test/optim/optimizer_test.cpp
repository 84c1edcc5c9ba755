// Each optimizer follows its formula, computed in double, and refuses options out of range or without effect.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "eave/update_steps.h"
#include "optim_fixture.h"

namespace eave {
namespace {

constexpr std::size_t kSize = 37;
constexpr int kSteps = 60;

using Doubles = std::vector<double>;

// Gradient and learning rate of step t. Both change from step to step; the rate goes up as well as down.
std::vector<float> gradient(int step) { return random_floats(kSize, 100 + static_cast<std::uint64_t>(step)); }
double rate(int step) { return 0.05 * (1 + 0.5 * std::sin(0.3 * step)); }

Doubles widen(const std::vector<float>& values) { return {values.begin(), values.end()}; }

std::vector<float> train(const std::string& optimizer, const Given& given) {
  const auto made = make_optimizer(optimizer, given, kSize);
  std::vector<float> x = random_floats(kSize, 1);
  for (int t = 0; t < kSteps; ++t) made->update(x, gradient(t), rate(t), {});
  return x;
}

// The tolerance covers 60 steps with a handful of roundings each, at values of order 1.
void expect_close(const std::vector<float>& found, const Doubles& expected) {
  for (std::size_t i = 0; i < kSize; ++i) EXPECT_NEAR(found[i], expected[i], 2e-5) << i;
}

struct SgdCase {
  double momentum, decay;
  bool nesterov, correction;
};

// Goyal et al. 2017, equation 10: u holds the rate, and correction multiplies it by eta_t / eta_{t-1}.
Doubles sgd_in_double(const SgdCase& c) {
  Doubles x = widen(random_floats(kSize, 1)), u(kSize);
  for (int t = 0; t < kSteps; ++t) {
    const std::vector<float> g = gradient(t);
    const double ratio = c.correction && t > 0 ? rate(t) / rate(t - 1) : 1;
    for (std::size_t i = 0; i < kSize; ++i) {
      const double step = rate(t) * (g[i] + c.decay * x[i]);
      u[i] = c.momentum * ratio * u[i] + step;
      x[i] -= c.nesterov ? step + c.momentum * u[i] : u[i];
    }
  }
  return x;
}

TEST(Sgd, follows_its_formula_in_double_with_momentum_nesterov_decay_and_correction) {
  for (const SgdCase& c : std::vector<SgdCase>{{0, 0, false, true},
                                               {0, 0.01, false, true},
                                               {0.9, 0, false, true},
                                               {0.9, 0.01, false, true},
                                               {0.9, 0.01, true, true},
                                               {0.9, 0, false, false},
                                               {0.9, 0.01, true, false}}) {
    Given given = {{"momentum", std::to_string(c.momentum)}, {"weight-decay", std::to_string(c.decay)}};
    if (c.momentum > 0) given.push_back({"nesterov", c.nesterov ? "on" : "off"});
    if (c.momentum > 0) given.push_back({"momentum-correction", c.correction ? "on" : "off"});
    SCOPED_TRACE(make_optimizer("sgd", given, 1)->equation());
    expect_close(train("sgd", given), sgd_in_double(c));
  }
}

TEST(Sgd, momentum_correction_matters_when_the_rate_changes) {
  const Doubles on = sgd_in_double({0.9, 0, false, true}), off = sgd_in_double({0.9, 0, false, false});
  double difference = 0;
  for (std::size_t i = 0; i < kSize; ++i) difference = std::max(difference, std::abs(on[i] - off[i]));
  EXPECT_GT(difference, 1e-2);  // otherwise the test above could not tell the two apart
}

TEST(Sgd, survives_a_rate_of_zero_without_momentum_correction) {
  const auto sgd = make_optimizer("sgd", {{"momentum", "0.5"}, {"momentum-correction", "off"}}, 1);
  std::vector<float> x = {1}, g = {1};
  sgd->update(x, g, 0, {});
  EXPECT_EQ(x[0], 1);
  sgd->update(x, g, 0.5, {});
  EXPECT_EQ(x[0], 0.5f);
}

// The classical form from x = 8 with v = 0: v is -1, -1.5 and -1.75, and x + v in turn 7, 5.5 and 3.75.
TEST(Sgd, knows_where_the_iterate_is_with_momentum_correction_and_without) {
  for (const std::string correction : {"on", "off"}) {
    const auto sgd =
        make_optimizer("sgd", {{"momentum", "0.5"}, {"nesterov", "on"}, {"momentum-correction", correction}}, 1);
    std::vector<float> x = {8}, g = {4};
    for (const float iterate : {7.0f, 5.5f, 3.75f}) {
      sgd->update(x, g, 0.25, {});
      const Ahead ahead = sgd->ahead(0.25);
      EXPECT_EQ(x[0] + ahead.factor * ahead.velocity[0], iterate) << correction;
    }
  }
}

Doubles adamw_in_double(double beta1, double beta2, double epsilon, double decay) {
  Doubles x = widen(random_floats(kSize, 1)), m(kSize), v(kSize);
  for (int t = 0; t < kSteps; ++t) {
    const std::vector<float> g = gradient(t);
    for (std::size_t i = 0; i < kSize; ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(beta1, t + 1)), v_hat = v[i] / (1 - std::pow(beta2, t + 1));
      x[i] -= rate(t) * (m_hat / (std::sqrt(v_hat) + epsilon) + decay * x[i]);
    }
  }
  return x;
}

TEST(Adamw, follows_its_formula_in_double) {
  expect_close(train("adamw", {}), adamw_in_double(0.9, 0.999, 1e-8, 0));
  expect_close(
      train("adamw",
            {{"adam-beta1", "0.8"}, {"adam-beta2", "0.95"}, {"adam-epsilon", "0.001"}, {"weight-decay", "0.1"}}),
      adamw_in_double(0.8, 0.95, 0.001, 0.1));
}

// A weight of 3 x 5, a bias of 5 and a kernel of 1 x 1 x 2 x 2, each at a multiple of 16.
const std::vector<TensorInfo> kTensors = {
    {"a.weight", {3, 5}, 0, 15}, {"a.bias", {5}, 16, 5}, {"b", {1, 1, 2, 2}, 32, 4}};

TEST(Optimizers, decay_only_tensors_with_two_or_more_dimensions_if_told) {
  const Given of_matrices = {{"weight-decay", "0.1"}, {"weight-decay-of", "matrices"}};
  for (const std::string name : {"sgd", "adamw"}) {
    for (const Given& more : std::vector<Given>{{}, {{"momentum", "0"}}, {{"nesterov", "on"}}}) {
      if (name == "adamw" && !more.empty()) continue;
      Given all = {{"weight-decay", "0.1"}}, none = {}, matrices = of_matrices;
      for (Given* given : {&all, &none, &matrices}) given->insert(given->end(), more.begin(), more.end());
      const auto with = make_optimizer(name, all, kSize), without = make_optimizer(name, none, kSize);
      const auto mixed = make_optimizer(name, matrices, kSize, kTensors);
      SCOPED_TRACE(mixed->equation());
      EXPECT_NE(mixed->equation().find("2 or more dimensions"), std::string::npos);
      std::vector<float> x = random_floats(kSize, 1), y = x, z = x;
      for (int t = 0; t < kSteps; ++t) {
        mixed->update(x, gradient(t), rate(t), {});
        with->update(y, gradient(t), rate(t), {});
        without->update(z, gradient(t), rate(t), {});
      }
      for (std::size_t i = 0; i < kSize; ++i) {
        const bool decays = i < 16 || i >= 32;
        EXPECT_EQ(x[i], decays ? y[i] : z[i]) << i;
        EXPECT_NE(y[i], z[i]) << "otherwise the test could not tell them apart";
      }
    }
  }
}

TEST(Optimizers, refuse_groups_of_a_weight_decay_that_is_not_there) {
  EXPECT_NE(refusal([] {
              make_optimizer("sgd", {{"weight-decay-of", "matrices"}}, kSize, kTensors);
            }).find("has no effect without --weight-decay"),
            std::string::npos);
  EXPECT_EQ(refusal([] { make_optimizer("sgd", {{"weight-decay-of", "all"}}, kSize, kTensors); }), "");
}

TEST(Adamw, advances_its_counter_once_per_step) {
  const auto adamw = make_optimizer("adamw", {}, kSize);
  std::vector<float> x(kSize, 1), g(kSize, 3);
  // With a constant gradient every step equals the rate, but only if t in both bias corrections counts the steps.
  for (int t = 1; t <= 10; ++t) {
    adamw->update(x, g, 0.01, {});
    EXPECT_NEAR(x[0], 1 - 0.01 * t, 1e-5);
  }
  EXPECT_EQ(x, std::vector<float>(kSize, x[0]));
}

TEST(Optimizers, state_is_lent_whole_and_moves_the_next_step) {
  EXPECT_TRUE(make_optimizer("sgd", {{"momentum", "0"}}, kSize)->state().empty());
  EXPECT_EQ(make_optimizer("adamw", {}, kSize)->state().size(), 2u);
  const auto sgd = make_optimizer("sgd", {{"momentum", "0.5"}}, kSize);
  ASSERT_EQ(sgd->state().size(), 1u);
  ASSERT_EQ(sgd->state().front().size(), kSize);
  sgd->state().front()[3] = 2;
  std::vector<float> x(kSize), g(kSize);
  sgd->update(x, g, 0.25, {});
  EXPECT_EQ(x[3], -0.25f);
}

TEST(Optimizers, refuse_options_out_of_range_or_without_effect) {
  const auto refused = [](const std::string& name, const Given& given) {
    return refusal([&] { make_optimizer(name, given, 1); });
  };
  EXPECT_NE(refused("sgd", {{"momentum", "1"}}).find("below 1"), std::string::npos);
  EXPECT_NE(refused("sgd", {{"momentum", "-0.1"}}), "");
  EXPECT_NE(refused("sgd", {{"weight-decay", "-1"}}), "");
  EXPECT_NE(refused("sgd", {{"momentum", "0"}, {"nesterov", "on"}}).find("--nesterov"), std::string::npos);
  EXPECT_NE(refused("sgd", {{"momentum", "0"}, {"momentum-correction", "off"}}).find("no effect"), std::string::npos);
  EXPECT_NE(refused("adamw", {{"adam-beta1", "1"}}), "");
  EXPECT_NE(refused("adamw", {{"adam-epsilon", "0"}}), "");
  EXPECT_EQ(refused("sgd", {}), "");
  EXPECT_EQ(refused("adamw", {}), "");
}

TEST(Optimizers, adamw_asks_for_a_rate_of_its_own) {
  const OptimizerKind& adamw = find_kind(optimizer_kinds(), "adamw");
  std::vector<OptionSpec> specs = adamw.options;
  for (const OptionSpec& spec : Schedule::options()) specs.push_back(spec);
  EXPECT_NE(refusal([&] {
              adamw.make({values_of(specs, {}), 1, cpu_device()});
            }).find("--lr 0.001"),
            std::string::npos);
  EXPECT_EQ(refusal([&] { adamw.make({values_of(specs, {{"lr", "0.001"}}), 1, cpu_device()}); }), "");
}

TEST(Optimizers, that_are_idle_keep_nothing_and_refuse_to_update) {
  const std::unique_ptr<Optimizer> idle = make_idle_optimizer();
  EXPECT_TRUE(idle->state().empty());
  EXPECT_TRUE(idle->ahead(1).velocity.empty());
  EXPECT_NE(idle->equation().find("none"), std::string::npos);
  EXPECT_THROW(idle->update({}, {}, 1, {}), Error);
}

TEST(Optimizers, declare_shared_options_alike) {
  OptionValues values;
  for (const OptimizerKind& kind : optimizer_kinds()) {
    for (const OptionSpec& spec : kind.options) EXPECT_NO_THROW(values.declare(spec)) << kind.name;
  }
  for (const OptionSpec& spec : Schedule::options()) EXPECT_NO_THROW(values.declare(spec));
}

}  // namespace
}  // namespace eave
