// The contract of Optimizer, for each optimizer by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "eave/update_steps.h"
#include "optim_fixture.h"

namespace eave {
namespace {

constexpr std::size_t kValues = 37;

class OptimizerContract : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Optimizer> make(std::size_t size) { return make_optimizer(GetParam(), {}, size); }
  static std::vector<float> gradient_of(int step) {
    return random_floats(kValues, 100 + static_cast<std::uint64_t>(step));
  }
};

TEST_P(OptimizerContract, leaves_gradients_alone_and_padding_zero) {
  const bool decays = std::ranges::any_of(find_kind(optimizer_kinds(), GetParam()).options,
                                          [](const auto& each) { return each.name == "weight-decay"; });
  const auto optimizer = make_optimizer(GetParam(), decays ? Given{{"weight-decay", "0.1"}} : Given{}, 32);
  std::vector<float> x(32), g(32), center(32), difference(32, 5);
  std::fill_n(x.begin(), 20, 1.0f);
  std::fill_n(g.begin(), 20, 2.0f);
  const std::vector<float> gradients = g;
  for (int t = 0; t < 5; ++t) optimizer->update(x, g, 0.1, Pull{center, 0.5f, difference});
  EXPECT_EQ(g, gradients);
  EXPECT_EQ(std::vector<float>(x.begin() + 20, x.end()), std::vector<float>(12));
  EXPECT_EQ(std::vector<float>(difference.begin() + 20, difference.end()), std::vector<float>(12));
}

TEST_P(OptimizerContract, applies_the_pull_it_is_given) {
  const auto optimizer = make(2);
  std::vector<float> x = {8, -8}, g = {0, 0}, center = {0, 0}, difference(2);
  optimizer->update(x, g, 0.1, Pull{center, 0.25f, difference});
  EXPECT_EQ(x, (std::vector<float>{6, -6}));
  EXPECT_EQ(difference, (std::vector<float>{2, -2}));
  EXPECT_EQ(center, (std::vector<float>{0, 0}));
}

TEST_P(OptimizerContract, moves_a_center_that_is_behind_before_it_pulls) {
  const auto optimizer = make(2);
  std::vector<float> x = {8, -8}, g = {0, 0}, center = {1, 1}, difference = {3, -1};
  optimizer->update(x, g, 0.1, Pull{center, 0.25f, difference, true});
  EXPECT_EQ(center, (std::vector<float>{4, 0}));
  EXPECT_EQ(difference, (std::vector<float>{1, -2}));
  EXPECT_EQ(x, (std::vector<float>{7, -6}));
}

// The pull's difference is that of the parameters before the step.
TEST_P(OptimizerContract, takes_the_difference_before_its_step) {
  const auto pulling = make(kValues), alone = make(kValues);
  std::vector<float> x = random_floats(kValues, 1), without = x, center(kValues), difference(kValues);
  const std::vector<float> before = x;
  pulling->update(x, gradient_of(0), 0.1, Pull{center, 0.5f, difference});
  alone->update(without, gradient_of(0), 0.1, {});
  for (std::size_t i = 0; i < kValues; ++i) {
    EXPECT_EQ(difference[i], 0.5f * before[i]);
    EXPECT_NEAR(x[i], without[i] - difference[i], 1e-6) << i;
  }
}

TEST_P(OptimizerContract, goes_against_the_gradient) {
  const auto optimizer = make(2);
  std::vector<float> x = {0, 0}, g = {1, -1};
  EXPECT_TRUE(optimizer->update(x, g, 0.1, {})->get());
  EXPECT_LT(x[0], 0);
  EXPECT_GT(x[1], 0);
}

TEST_P(OptimizerContract, goes_on_from_its_state_with_the_same_bits) {
  const auto whole = make(kValues), resumed = make(kValues);
  std::vector<float> x = random_floats(kValues, 1);
  for (int t = 0; t < 10; ++t) whole->update(x, gradient_of(t), 0.05, {});
  std::vector<float> later = x;
  const std::vector<Slice> from = whole->state(), to = resumed->state();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    ASSERT_EQ(from[i].size(), kValues);
    std::ranges::copy(from[i], to[i].begin());
  }
  ASSERT_EQ(whole->update_count() == nullptr, resumed->update_count() == nullptr);
  if (whole->update_count()) *resumed->update_count() = *whole->update_count();
  for (int t = 10; t < 20; ++t) {
    whole->update(x, gradient_of(t), 0.05, {});
    resumed->update(later, gradient_of(t), 0.05, {});
  }
  EXPECT_EQ(later, x);
}

TEST_P(OptimizerContract, keeps_an_element_whose_gradient_is_not_finite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto optimizer = make(kValues);
    std::vector<float> x = random_floats(kValues, 1);
    for (int t = 0; t < 3; ++t) EXPECT_TRUE(optimizer->update(x, gradient_of(t), 0.05, {})->get());
    std::vector<float> g = gradient_of(3);
    g[5] = bad;
    const float before = x[5];
    EXPECT_FALSE(optimizer->update(x, g, 0.05, {})->get());
    EXPECT_EQ(x[5], before);
    EXPECT_TRUE(optimizer->update(x, gradient_of(4), 0.05, {})->get()) << "the step after it is as any other";
    EXPECT_NE(x[5], before);
    for (const float value : x) EXPECT_TRUE(std::isfinite(value));
    for (const Slice& vector : optimizer->state()) {
      for (const float value : vector) EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST_P(OptimizerContract, multiplies_the_gradient_by_its_factor) {
  const auto clipped = make(kValues), scaled = make(kValues);
  std::vector<float> x = random_floats(kValues, 1), y = x;
  for (int t = 0; t < 5; ++t) {
    std::vector<float> quarter = gradient_of(t);
    for (float& value : quarter) value *= 0.25f;
    EXPECT_TRUE(clipped->update(x, gradient_of(t), 0.05, {}, 0.25f)->get());
    scaled->update(y, quarter, 0.05, {});
  }
  for (std::size_t i = 0; i < kValues; ++i) EXPECT_FLOAT_EQ(x[i], y[i]) << i;
}

TEST_P(OptimizerContract, takes_no_step_if_the_factor_is_not_a_number) {
  const auto optimizer = make(kValues);
  std::vector<float> x = random_floats(kValues, 1);
  optimizer->update(x, gradient_of(0), 0.05, {});
  const std::vector<float> before = x;
  std::vector<float> bad = gradient_of(1);
  bad[7] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(optimizer->update(x, bad, 0.05, {}, std::numeric_limits<float>::quiet_NaN())->get());
  EXPECT_EQ(x, before);
  for (const Slice& vector : optimizer->state()) {
    for (const float value : vector) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_P(OptimizerContract, has_an_equation_of_one_line_of_ascii) {
  const std::string equation = make(1)->equation();
  EXPECT_TRUE(std::ranges::all_of(equation, [](char c) { return c >= ' ' && c <= '~'; })) << equation;
  EXPECT_NE(equation.find("x <- x - "), std::string::npos) << equation;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerKind& kind : optimizer_kinds()) names.push_back(kind.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(AllKinds, OptimizerContract, testing::ValuesIn(optimizer_names()), [](const auto& each) {
  std::string name = each.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace eave
