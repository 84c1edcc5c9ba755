// Learning-rate schedules: step, cosine, warm-up, and scaling with the ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "optim_fixture.h"

namespace eave {
namespace {

constexpr std::int64_t kEpoch = 1000, kEpochs = 10, kTotal = kEpoch * kEpochs;

Schedule make_schedule(const Given& given, double scale = 1) {
  return Schedule(values_of(Schedule::options(), given), kEpoch, kTotal, scale);
}

// Expects rates after so many samples.
void expect_rates(const Schedule& schedule, const std::vector<std::pair<std::int64_t, double>>& rates) {
  for (const auto& [samples, rate] : rates) EXPECT_DOUBLE_EQ(schedule.learning_rate(samples), rate) << samples;
}

std::string refused(const Given& given, double scale = 1) {
  return refusal([&] { make_schedule(given, scale); });
}

// The rate of the first step of every epoch, with the last batch of an epoch cut short.
std::vector<double> rates_by_epoch(const Schedule& schedule, std::int64_t ranks) {
  const std::int64_t batch = 32 * ranks;
  std::vector<double> rates;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::int64_t seen = 0; seen < kEpoch; seen += std::min(batch, kEpoch - seen)) {
      const double rate = schedule.learning_rate(epoch * kEpoch + seen);
      if (seen == 0) rates.push_back(rate);
    }
  }
  return rates;
}

TEST(Schedule, rate_in_epoch_n_is_the_same_for_every_rank_count_without_scaling) {
  for (const Given& given : std::vector<Given>{{},
                                               {{"lr-schedule", "step"}, {"lr-step-epochs", "2,5"}},
                                               {{"lr-schedule", "cosine"}},
                                               {{"warmup-epochs", "3"}, {"warmup-from", "0.1"}}}) {
    const std::vector<double> alone = rates_by_epoch(make_schedule(given, 1), 1);
    for (const std::int64_t ranks : {2, 3, 4, 8}) {
      EXPECT_EQ(rates_by_epoch(make_schedule(given, static_cast<double>(ranks)), ranks), alone);
    }
  }
}

TEST(Schedule, every_step_of_an_epoch_has_one_rate_under_step) {
  const Schedule schedule = make_schedule({{"lr", "0.5"}, {"lr-schedule", "step"}, {"lr-step-epochs", "2,5"}});
  EXPECT_EQ(schedule.learning_rate(0), 0.5);
  EXPECT_EQ(schedule.learning_rate(2 * kEpoch - 1), 0.5);
  expect_rates(schedule, {{2 * kEpoch, 0.05}, {5 * kEpoch - 1, 0.05}, {5 * kEpoch, 0.005}, {kTotal, 0.005}});
}

TEST(Schedule, falls_at_the_same_epochs_with_scaling) {
  const Schedule schedule =
      make_schedule({{"lr", "0.5"}, {"lr-schedule", "step"}, {"lr-step-epochs", "2"}, {"lr-scaling", "linear"}}, 4);
  expect_rates(schedule, {{2 * kEpoch - 1, 2}, {2 * kEpoch, 0.2}});
}

TEST(Schedule, cosine_falls_from_the_rate_to_the_final_one_and_stays) {
  const Schedule schedule = make_schedule({{"lr", "0.5"}, {"lr-schedule", "cosine"}, {"lr-final", "0.1"}});
  expect_rates(schedule, {{0, 0.5}, {kTotal / 2, 0.3}});
  EXPECT_NEAR(schedule.learning_rate(kTotal / 4), 0.3 + 0.2 * std::sqrt(0.5), 1e-12);
  expect_rates(schedule, {{kTotal, 0.1}, {2 * kTotal, 0.1}});
}

TEST(Schedule, scaling_multiplies_by_the_ratio_of_batches_or_its_root) {
  EXPECT_DOUBLE_EQ(make_schedule({{"lr", "0.1"}, {"lr-scaling", "linear"}}, 4).learning_rate(0), 0.4);
  EXPECT_DOUBLE_EQ(make_schedule({{"lr", "0.1"}, {"lr-scaling", "sqrt"}}, 4).learning_rate(0), 0.2);
  EXPECT_DOUBLE_EQ(make_schedule({{"lr", "0.1"}, {"lr-scaling", "none"}}, 4).learning_rate(0), 0.1);
  EXPECT_DOUBLE_EQ(make_schedule({{"lr", "0.1"}, {"lr-scaling", "linear"}}, 1).learning_rate(0), 0.1);
}

TEST(Schedule, warm_up_rises_by_a_constant_amount_per_sample_to_the_scaled_rate) {
  const Schedule schedule = make_schedule({{"lr", "0.1"}, {"lr-scaling", "linear"}, {"warmup-epochs", "5"}}, 4);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(0), 0.1);
  const double per_sample = (0.4 - 0.1) / (5 * kEpoch);
  for (std::int64_t seen = 0; seen < 5 * kEpoch; seen += 77) {
    EXPECT_NEAR(schedule.learning_rate(seen + 1) - schedule.learning_rate(seen), per_sample, 1e-12);
  }
  expect_rates(schedule, {{5 * kEpoch, 0.4}, {kTotal, 0.4}});
}

TEST(Schedule, cosine_begins_where_warm_up_ends) {
  const Schedule schedule =
      make_schedule({{"lr", "0.5"}, {"lr-schedule", "cosine"}, {"warmup-epochs", "2"}, {"warmup-from", "0"}});
  expect_rates(schedule, {{0, 0}, {kEpoch, 0.25}, {2 * kEpoch, 0.5}, {6 * kEpoch, 0.25}});
  EXPECT_NEAR(schedule.learning_rate(kTotal), 0, 1e-15);
}

TEST(Schedule, counts_its_steps_down_and_nothing_else) {
  const Schedule steps = make_schedule({{"lr", "1"}, {"lr-schedule", "step"}, {"lr-step-epochs", "3,6"}});
  EXPECT_EQ(steps.drops(0), 0);
  EXPECT_EQ(steps.drops(3 * kEpoch - 1), 0);
  EXPECT_EQ(steps.drops(3 * kEpoch), 1);
  EXPECT_EQ(steps.drops(6 * kEpoch - 1), 1);
  EXPECT_EQ(steps.drops(6 * kEpoch), 2);
  EXPECT_EQ(steps.drops(INT64_MAX), 2);
  const Schedule rising =
      make_schedule({{"lr", "1"}, {"lr-schedule", "step"}, {"lr-step-epochs", "3"}, {"lr-step-factor", "2"}});
  EXPECT_EQ(rising.drops(INT64_MAX), 0);
  EXPECT_EQ(make_schedule({{"lr", "1"}, {"lr-schedule", "cosine"}}).drops(INT64_MAX), 0);
  EXPECT_EQ(make_schedule({{"lr", "1"}}).drops(INT64_MAX), 0);
}

TEST(Schedule, refuses_what_contradicts_or_has_no_effect) {
  const std::vector<std::pair<Given, std::string>> cases = {
      {{{"lr", "0"}}, "--lr 0"},
      {{{"lr", "-1"}}, "--lr -1"},
      {{{"lr-step-epochs", "3"}}, "has no effect without --lr-schedule step"},
      {{{"lr-step-factor", "0.5"}}, "has no effect without --lr-schedule step"},
      {{{"lr-final", "0.01"}}, "has no effect without --lr-schedule cosine"},
      {{{"lr-schedule", "cosine"}, {"lr-final", "1"}}, "less than the rate"},
      {{{"lr-schedule", "step"}}, "needs --lr-step-epochs"},
      {{{"lr-schedule", "step"}, {"lr-step-epochs", "5,2"}}, "rising epochs"},
      {{{"lr-schedule", "step"}, {"lr-step-epochs", "5,,7"}}, "rising epochs"},
      {{{"lr-schedule", "step"}, {"lr-step-epochs", "5,"}}, "rising epochs"},
      {{{"lr-schedule", "step"}, {"lr-step-epochs", "five"}}, "rising epochs"},
      {{{"lr-schedule", "step"}, {"lr-step-epochs", "5"}, {"lr-step-factor", "1"}}, "factor such as"},
      {{{"warmup-from", "0.1"}}, "has no effect without --warmup or --warmup-epochs"},
      {{{"warmup-epochs", "5"}}, "give --warmup-from"},
      {{{"warmup-epochs", "-1"}}, "--warmup-epochs -1"},
      {{{"lr-schedule", "step"}, {"lr-step-epochs", "2"}, {"warmup-epochs", "3"}, {"warmup-from", "0"}},
       "before the end of the warm-up"},
  };
  for (const auto& [given, expected] : cases)
    EXPECT_NE(refused(given).find(expected), std::string::npos) << refused(given);
  EXPECT_EQ(refused({}), "");
}

TEST(Schedule, refuses_scaling_where_rates_do_not_scale_with_the_ranks) {
  EXPECT_NE(refused({{"lr-scaling", "linear"}}, 0).find("--lr-scaling linear"), std::string::npos);
  EXPECT_EQ(refused({{"lr-scaling", "none"}}, 0), "");
  EXPECT_DOUBLE_EQ(make_schedule({{"lr", "0.1"}}, 0).learning_rate(0), 0.1);
}

TEST(Schedule, describes_the_numbers_in_force) {
  EXPECT_EQ(make_schedule({{"lr", "0.1"}}).describe(), "0.1; constant");
  EXPECT_EQ(
      make_schedule({{"lr", "0.1"}, {"lr-scaling", "linear"}, {"warmup-epochs", "5"}, {"lr-schedule", "cosine"}}, 4)
          .describe(),
      "0.1 x 4 (linear) = 0.4, after warm-up from 0.1 over 5 epochs; cosine to 0");
  EXPECT_EQ(make_schedule({{"lr", "0.1"}, {"lr-schedule", "step"}, {"lr-step-epochs", "3,6"}}).describe(),
            "0.1; times 0.1 at epochs 3, 6");
}

// 1000 samples per epoch, 300 per step: an epoch has four steps, the last of 100 samples.
TEST(Schedule, warms_up_over_steps_tokens_or_epochs) {
  const auto made = [](const std::string& length) {
    const Given given = {{"lr", "0.5"}, {"warmup", length}, {"warmup-from", "0"}};
    return Schedule(values_of(Schedule::options(), given), kEpoch, kTotal, 1, {300, 64});
  };
  expect_rates(made("2steps"), {{0, 0}, {300, 0.25}, {600, 0.5}, {900, 0.5}});
  expect_rates(made("1 step"), {{0, 0}, {150, 0.25}, {300, 0.5}});
  expect_rates(made("6steps"), {{0, 0}, {400, 0.125}, {1600, 0.5}});
  expect_rates(made("6.4e4 tokens"), {{0, 0}, {250, 0.125}, {1000, 0.5}});
  expect_rates(made("0.5epochs"), {{0, 0}, {250, 0.25}, {500, 0.5}});
  EXPECT_EQ(made("2steps").describe(), "0.5, after warm-up from 0 over 2 steps; constant");
}

// Each shape of --lr-schedule. A run that is extended, and its card, rely on what the schedule says of itself.
TEST(Schedule, says_of_each_shape_what_it_is_and_whether_the_length_matters) {
  const std::vector<OptionSpec> options = Schedule::options();
  const auto shape = std::ranges::find(options, "lr-schedule", &OptionSpec::name);
  std::set<std::string> descriptions;
  for (const std::string& name : shape->choices) {
    Given given = {{"lr-schedule", name}};
    if (name == "step") given.emplace_back("lr-step-epochs", "3");
    const OptionValues values = values_of(options, given);
    const Schedule whole(values, kEpoch, kTotal, 1), twice(values, kEpoch, 2 * kTotal, 1);
    bool differs = false;
    for (std::int64_t seen = 0; seen < kTotal; seen += kEpoch / 2)
      differs = differs || whole.learning_rate(seen) != twice.learning_rate(seen);
    EXPECT_EQ(whole.depends_on_length(), differs) << name;
    EXPECT_EQ(Schedule::depends_on_length(values), differs) << name;
    descriptions.insert(whole.describe());
  }
  EXPECT_EQ(descriptions.size(), shape->choices.size());
}

TEST(Schedule, falls_by_cosine_from_the_end_of_the_warm_up_to_the_end_of_the_run) {
  const Given given = {
      {"lr", "0.5"}, {"warmup", "2000steps"}, {"warmup-from", "0"}, {"lr-schedule", "cosine"}, {"lr-final", "0.1"}};
  const Schedule schedule(values_of(Schedule::options(), given), kEpoch, kTotal, 1, {1, 0});
  EXPECT_DOUBLE_EQ(schedule.learning_rate(2000), 0.5);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(6000), 0.3);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(kTotal), 0.1);
}

TEST(Schedule, refuses_a_length_of_warm_up_that_it_cannot_read) {
  for (const std::string length : {"2000", "steps", "0steps", "-1steps", "1e6 words", "12sample"}) {
    EXPECT_NE(refused({{"warmup", length}, {"warmup-from", "0"}}).find("such as 2000steps"), std::string::npos)
        << length;
  }
  EXPECT_NE(refused({{"warmup", "2steps"}, {"warmup-epochs", "1"}, {"warmup-from", "0"}}).find("contradicts"),
            std::string::npos);
  EXPECT_NE(refused({{"warmup", "2steps"}}).find("--warmup-from"), std::string::npos);
  const Given tokens = {{"warmup", "1e6tokens"}, {"warmup-from", "0"}};
  EXPECT_NE(refusal([&] {
              Schedule(values_of(Schedule::options(), tokens), kEpoch, kTotal, 1, {32, 0});
            }).find("no tokens"),
            std::string::npos);
}

}  // namespace
}  // namespace eave
