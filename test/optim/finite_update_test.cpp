// An update leaves an element as it was if its new value would not be finite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "eave/update_steps.h"
#include "kernels/flat/flat_pass.h"
#include "optim_fixture.h"

namespace eave {
namespace {

constexpr std::size_t kOdd = 1003;
const float kBad[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity(), 3e38f};
// Indices in the first vector register, in a later one, and in the scalar tail.
const std::size_t kPlaces[] = {0, 517, 1002};

// Expects the element at `place` to be unchanged, and all others to have the bits of an update without a bad gradient.
void expect_kept(const std::vector<float>& after, const std::vector<float>& clean, const std::vector<float>& before,
                 std::size_t place) {
  std::vector<float> expected = clean;
  expected[place] = before[place];
  EXPECT_EQ(after, expected) << place;
}

template <class Update>
void expect_gate(Update update, bool has_pull, bool arrives) {
  const Arena before(kOdd);
  Arena clean(kOdd);
  EXPECT_TRUE(update(clean));
  for (const float bad : kBad) {
    for (const std::size_t place : kPlaces) {
      Arena arena(kOdd);
      arena.g[place] = bad;
      EXPECT_FALSE(update(arena)) << bad;
      expect_kept(arena.x, clean.x, before.x, place);
      expect_kept(arena.v, clean.v, before.v, place);
      expect_kept(arena.w, clean.w, before.w, place);
      EXPECT_EQ(arena.c, clean.c);
      if (has_pull) {
        EXPECT_EQ(arena.d[place], 0);
      }
      arena.d[place] = clean.d[place];
      EXPECT_EQ(arena.d, clean.d);
      if (!arrives) continue;
      Arena other(kOdd);
      other.d[place] = bad == 3e38f ? std::numeric_limits<float>::infinity() : bad;
      update(other);
      expect_kept(other.c, clean.c, before.c, place);
      EXPECT_TRUE(std::isfinite(other.x[place]));
    }
  }
}

class FiniteUpdate : public testing::TestWithParam<int> {
 protected:
  template <class Update>
  static void expect_gate_of(Update update) {
    const bool has_pull = GetParam() > 0, arrives = GetParam() == 2;
    const auto with_pull = [&](Arena& arena) {
      const Pull pull = arena.pull(0.25f, arrives);
      return update(arena, has_pull ? &pull : nullptr);
    };
    expect_gate(with_pull, has_pull, arrives);
  }
};

TEST_P(FiniteUpdate, of_sgd_keeps_parameter_and_velocity_and_sends_nothing) {
  for (const bool nesterov : {false, true}) {
    const SgdStep step{.step_scale = 2, .momentum = 0.9f, .weight_decay = 1e-3f, .nesterov = nesterov};
    expect_gate_of(
        [&](Arena& a, const Pull* pull) { return cpu_device().update_sgd(a.x, a.g, a.v, step, pull)->get(); });
  }
  const SgdStep plain{.step_scale = 2};
  expect_gate_of([&](Arena& a, const Pull* pull) { return cpu_device().update_sgd(a.x, a.g, {}, plain, pull)->get(); });
}

TEST_P(FiniteUpdate, of_adamw_keeps_parameter_and_moments_and_sends_nothing) {
  expect_gate_of([](Arena& a, const Pull* pull) {
    return cpu_device().update_adamw(a.x, a.g, a.v, a.w, kAdamwStep, pull)->get();
  });
}

INSTANTIATE_TEST_SUITE_P(Pulls, FiniteUpdate, testing::Values(0, 1, 2));

bool all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

// The message holds a bad value, and extreme values that overflow when they are added to an extreme center.
TEST(FiniteCenter, is_left_as_it_was_by_messages_that_are_not_finite) {
  for (const float bad : kBad) {
    for (const float center : {1.0f, 3e38f, -3e38f}) {
      const std::vector<float> message = {bad, 1, -3e38f, 3e38f};
      const auto meet = [&](const auto& action) {
        std::vector<float> c(4, center), v(4, center / 2), m = message;
        action(c, v, m);
        EXPECT_TRUE(all_finite(c)) << bad << " " << center;
        EXPECT_TRUE(all_finite(v)) << bad << " " << center;
        return m;
      };
      using Values = std::vector<float>;
      EXPECT_TRUE(all_finite(meet([](Values& c, Values&, Values& m) {
        cpu::run({passes::MeetElastically{0.5f}, {c, m}});
      })));
      EXPECT_TRUE(all_finite(meet([](Values& c, Values&, Values& m) { cpu::run({passes::PushAndPull{}, {c, m}}); })));
      EXPECT_TRUE(all_finite(meet([](Values& c, Values& v, Values& m) {
        cpu::run({passes::PushIntoVelocity{0.9f}, {c, v, m}});
      })));
      EXPECT_TRUE(all_finite(meet([](Values& c, Values& v, Values& m) {
        cpu_device().step_outer(c, v, m, {.momentum = 0.9f, .scale = 1, .carry_left = 0.5f, .step = 2, .ahead = 0.1f});
      })));
      meet([](Values& c, Values&, Values& m) { cpu_device().move_center(c, m); });
      meet([](Values& c, Values& x, Values& m) { cpu_device().move_center_and_follow(c, m, x, 0.5f); });
      meet([](Values& c, Values& x, Values& m) { cpu_device().pull_parameters(x, {c, 0.5f, m, true}); });
      meet([](Values& c, Values&, Values& m) { cpu_device().subtract(c, m); });
      meet([](Values& z, Values& rest, Values& m) {
        std::ranges::fill(rest, 0.0f);
        cpu_device().move_average(z, rest, m, 0.5f);
      });
      EXPECT_TRUE(
          all_finite(meet([](Values& c, Values&, Values& m) { cpu_device().write_step(m, c, Values(m), 2, 0.1f); })));
    }
  }
}

}  // namespace
}  // namespace eave
