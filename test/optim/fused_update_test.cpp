// The CPU's fused updates give the bits of plain scalar arithmetic, and of separate passes for the elastic pull.
#include <gtest/gtest.h>

#include <cmath>

#include "eave/update_steps.h"
#include "optim_fixture.h"

namespace eave {
namespace {

// Sizes around every vector width, and larger ones with a tail.
const std::size_t kSizes[] = {1, 3, 15, 16, 17, 63, 65, 1000, 4099};

// Plain float arithmetic in the order of the header's formula. This file is compiled for the oldest x86-64, so the
// compiler cannot fuse multiply and add.
void step_one_by_one(Arena& a, const SgdStep& step, float alpha) {
  for (std::size_t i = 0; i < a.x.size(); ++i) {
    const float x = a.x[i];
    const float scaled = step.gradient_scale * (a.g[i] + step.weight_decay * x);
    const float iterate = step.nesterov ? x + step.step_scale * step.momentum * a.v[i] : x;
    a.v[i] = step.momentum * a.v[i] + scaled;
    const float s = step.nesterov ? scaled + step.momentum * a.v[i] : a.v[i];
    a.d[i] = alpha * (iterate - a.c[i]);
    a.x[i] = x - step.step_scale * s - a.d[i];
  }
}

TEST(FusedUpdate, gives_the_bits_of_plain_scalar_arithmetic_at_every_vector_width) {
  for (const std::size_t size : kSizes) {
    for (const bool nesterov : {false, true}) {
      const SgdStep step{.step_scale = 0.1f, .momentum = 0.9f, .weight_decay = 1e-3f, .nesterov = nesterov};
      Arena expected(size), fused(size);
      step_one_by_one(expected, step, 0.3f);
      const Pull pull = fused.pull(0.3f);
      cpu_device().update_sgd(fused.x, fused.g, fused.v, step, &pull);
      EXPECT_EQ(fused.x, expected.x) << size;
      EXPECT_EQ(fused.v, expected.v) << size;
      EXPECT_EQ(fused.d, expected.d) << size;
    }
  }
}

TEST(FusedUpdate, adamw_gives_the_bits_of_plain_scalar_arithmetic_at_every_vector_width) {
  for (const std::size_t size : kSizes) {
    const AdamwStep& step = kAdamwStep;
    Arena expected(size), fused(size);
    for (std::size_t i = 0; i < size; ++i) {
      const float x = expected.x[i], g = expected.g[i];
      expected.v[i] = step.beta1 * expected.v[i] + step.fresh1 * g;
      expected.w[i] = step.beta2 * expected.w[i] + step.fresh2 * (g * g);
      const float root = std::sqrt(expected.w[i]) * step.root_scale + step.epsilon;
      expected.x[i] = x - (step.decay * x + step.rate * expected.v[i] / root);
    }
    cpu_device().update_adamw(fused.x, fused.g, fused.v, fused.w, step, nullptr);
    EXPECT_EQ(fused.x, expected.x) << size;
    EXPECT_EQ(fused.w, expected.w) << size;
  }
}

// The reference for the fused pull: it runs as separate passes before and after `update`.
template <class Update>
void pull_in_separate_passes(Arena& arena, float alpha, bool center_is_behind, Update update) {
  if (center_is_behind) cpu_device().move_center(arena.c, arena.d);
  cpu_device().write_difference(arena.d, arena.x, arena.c, alpha);
  update();
  for (std::size_t i = 0; i < arena.x.size(); ++i) arena.x[i] -= arena.d[i];
}

void expect_same_bits(const Arena& fused, const Arena& separate) {
  EXPECT_EQ(fused.x, separate.x) << fused.x.size();
  EXPECT_EQ(fused.d, separate.d) << fused.x.size();
  EXPECT_EQ(fused.c, separate.c) << fused.x.size();
}

class FusedPull : public ::testing::TestWithParam<bool> {};

TEST_P(FusedPull, equals_separate_passes_with_sgd) {
  for (const std::size_t size : kSizes) {
    for (const std::size_t velocity : {std::size_t{0}, size}) {
      const SgdStep step{.step_scale = 0.1f, .momentum = 0.9f, .weight_decay = 1e-3f};
      Arena fused(size), separate(size);
      const Pull pull = fused.pull(0.25f, GetParam());
      cpu_device().update_sgd(fused.x, fused.g, Slice(fused.v).first(velocity), step, &pull);
      pull_in_separate_passes(separate, 0.25f, GetParam(), [&] {
        cpu_device().update_sgd(separate.x, separate.g, Slice(separate.v).first(velocity), step, nullptr);
      });
      expect_same_bits(fused, separate);
    }
  }
}

TEST_P(FusedPull, equals_separate_passes_with_adamw) {
  for (const std::size_t size : kSizes) {
    const AdamwStep& step = kAdamwStep;
    Arena fused(size), separate(size);
    const Pull pull = fused.pull(0.25f, GetParam());
    cpu_device().update_adamw(fused.x, fused.g, fused.v, fused.w, step, &pull);
    pull_in_separate_passes(separate, 0.25f, GetParam(), [&] {
      cpu_device().update_adamw(separate.x, separate.g, separate.v, separate.w, step, nullptr);
    });
    expect_same_bits(fused, separate);
  }
}

TEST_P(FusedPull, equals_separate_passes_without_a_step) {
  for (const std::size_t size : kSizes) {
    Arena fused(size), separate(size);
    cpu_device().pull_parameters(fused.x, fused.pull(0.25f, GetParam()));
    pull_in_separate_passes(separate, 0.25f, GetParam(), [] {});
    expect_same_bits(fused, separate);
  }
}

INSTANTIATE_TEST_SUITE_P(Center, FusedPull, ::testing::Bool(),
                         [](const auto& param_info) { return param_info.param ? "arrives" : "stands"; });

TEST(FusedUpdate, pulls_once_and_towards_the_center) {
  std::vector<float> x = {12, -4, 6}, center = {4, 4, 6}, difference(3);
  cpu_device().pull_parameters(x, {center, 0.25f, difference});
  EXPECT_EQ(x, (std::vector<float>{10, -2, 6}));
  EXPECT_EQ(difference, (std::vector<float>{2, -2, 0}));
  EXPECT_EQ(center, (std::vector<float>{4, 4, 6}));
}

TEST(FusedUpdate, passes_without_a_step_work_on_the_iterate_that_parameters_are_ahead_of) {
  // Parameters 10, 20; velocity 4, -4; the iterate is 10 + 0.5 * 4 = 12 and 20 - 2 = 18.
  const std::vector<float> velocity = {4, -4};
  const Ahead ahead{velocity, 0.5f};
  std::vector<float> x = {10, 20}, center = {8, 10}, difference = {0, 0};
  cpu_device().write_difference(difference, x, center, 0.25f, ahead);
  EXPECT_EQ(difference, (std::vector<float>{1, 2}));
  cpu_device().pull_parameters(x, {center, 0.25f, difference}, ahead);
  EXPECT_EQ(x, (std::vector<float>{9, 18}));
  EXPECT_EQ(difference, (std::vector<float>{1, 2}));
  const std::vector<float> sum = {3, 6};  // moves the center to 11, 16, which is also the iterate
  cpu_device().move_center_and_follow(center, sum, x, 0.25f, ahead);
  EXPECT_EQ(center, (std::vector<float>{11, 16}));
  EXPECT_EQ(x, (std::vector<float>{9, 18}));
}

TEST(FusedUpdate, follows_the_center_exactly_when_alpha_is_one) {
  std::vector<float> center = {1e8f, 0.1f, -3}, sum = {1, 1e-9f, 5}, x = {1e-8f, 12345.678f, 1e20f};
  cpu_device().move_center_and_follow(center, sum, x, 1);
  EXPECT_EQ(x, center);
  EXPECT_EQ(center[2], 2);
}

TEST(FusedUpdate, follows_the_moved_center) {
  std::vector<float> center = {4, 8}, sum = {4, -8}, x = {0, 16};
  cpu_device().move_center_and_follow(center, sum, x, 0.25f);
  EXPECT_EQ(center, (std::vector<float>{8, 0}));
  EXPECT_EQ(x, (std::vector<float>{2, 12}));
}

}  // namespace
}  // namespace eave
