// Tests the length of a run, and the learning-rate schedule of a resumed run whose length has changed.
#include "app/run/run_length.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "eave/optimizer.h"
#include "test/expectations.h"

namespace eave {
namespace {

constexpr EpochSteps kOnTwo{1000, 64}, kOnFour{1000, 128};  // 16 and 8 steps an epoch

struct Resumed {
  std::string option = {};  // value of --extend-schedule
  double epochs = 5;
  std::string note = "5000 4960";
  std::map<std::string, std::string> config = {{"epochs", "5"}};
  EpochSteps former = kOnTwo, now = kOnTwo;
  std::string max_steps = {}, max_samples = {}, max_tokens = {};
  std::int64_t done = 40;  // steps done so far, counted in steps of `now`
};

OptionValues values_of(const Resumed& resumed) {
  OptionValues values;
  std::vector<OptionSpec> options = Schedule::options();
  options.push_back(extend_schedule_option());
  options.push_back({"epochs", OptionType::kReal, "5", ""});
  options.push_back({"max-steps", OptionType::kInteger, "", ""});
  options.push_back({"max-samples", OptionType::kInteger, "", ""});
  options.push_back({"max-tokens", OptionType::kReal, "", ""});
  options.push_back({"context", OptionType::kInteger, "64", ""});
  for (const OptionSpec& option : options) values.declare(option);
  values.set("lr-schedule", "cosine", "test");
  values.set("epochs", std::to_string(resumed.epochs), "test");
  if (!resumed.max_steps.empty()) values.set("max-steps", resumed.max_steps, "test");
  if (!resumed.max_samples.empty()) values.set("max-samples", resumed.max_samples, "test");
  if (!resumed.max_tokens.empty()) values.set("max-tokens", resumed.max_tokens, "test");
  if (!resumed.option.empty()) values.set("extend-schedule", resumed.option, "test");
  return values;
}

ScheduleInForce decide(const Resumed& resumed) {
  const OptionValues values = values_of(resumed);
  Manifest saved;
  if (!resumed.note.empty()) saved.notes[kSchedule] = resumed.note;
  const FormerRun former{saved, resumed.config, resumed.former};
  return decide_schedule({values, former, resumed.now, resumed.done, steps_in_resumed(values, former, resumed.now),
                          [&](const ScheduleLength& length, std::int64_t samples) {
                            Schedule schedule(values, 1000, length.samples, 1);
                            schedule.hold_after(length.last_step);
                            return schedule.learning_rate(samples);
                          }});
}

void expect_length(const Resumed& resumed, std::int64_t samples, std::int64_t last_step, const std::string& says = "") {
  const ScheduleInForce schedule = decide(resumed);
  EXPECT_EQ(schedule.length.samples, samples);
  EXPECT_EQ(schedule.length.last_step, last_step);
  EXPECT_EQ(schedule.note.empty(), says.empty()) << schedule.note;
  expect_parts(schedule.note, {says});
}

void expect_refused(const Resumed& resumed, ExitCode code, const std::string& says) {
  expect_error(code, says, [&] { decide(resumed); });
}

TEST(ScheduleLength, is_that_of_the_run_while_its_length_does_not_change) {
  expect_length({}, 5000, 4960);
  expect_length({.note = ""}, 5000, 4960);  // old checkpoints have no note, so config.json tells the length
  expect_refused({.option = "hold"}, ExitCode::kUsage, "has no effect");
  expect_refused({.option = "stretch"}, ExitCode::kUsage, "has no effect");
}

TEST(ScheduleLength, of_a_longer_or_shorter_run_has_to_be_said) {
  for (const std::string note : {"5000 4960", ""}) {
    expect_refused({.epochs = 10, .note = note}, ExitCode::kConfiguration, "spans 5 epochs");
    expect_refused({.epochs = 3, .note = note}, ExitCode::kConfiguration, "ask for 3 epochs");
    expect_refused({.note = note, .max_steps = "60"}, ExitCode::kConfiguration, "spans 5 epochs");
    expect_length({.option = "stretch", .epochs = 10, .note = note}, 10000, 9960, "the rate of step 41 is 0.0426");
    expect_length({.option = "hold", .epochs = 10, .note = note}, 5000, 4960, "from step 80 the rate stays at 7.89");
    expect_length({.option = "hold", .epochs = 3, .note = note}, 5000, 4960, "ends with step 48, at the rate");
    expect_length({.option = "stretch", .epochs = 3, .note = note}, 3000, 2960, "spans 3 epochs");
  }
}

// The checkpoint of an extended run notes the length of its schedule. The note holds even if config.json says
// otherwise.
TEST(ScheduleLength, survives_a_second_resumption) {
  const std::map<std::string, std::string> held = {{"epochs", "10"}, {"extend-schedule", "hold"}};
  const std::map<std::string, std::string> stretched = {{"epochs", "10"}, {"extend-schedule", "stretch"}};
  expect_length({.option = "hold", .epochs = 10, .config = held, .done = 120}, 5000, 4960, "from step 121 the rate");
  expect_refused({.epochs = 10, .config = held, .done = 120}, ExitCode::kConfiguration, "spans 5 epochs");
  expect_length({.option = "stretch", .epochs = 10, .note = "10000 9960", .config = stretched}, 10000, 9960);
  expect_length({.epochs = 10, .note = "10000 9960", .config = stretched}, 10000, 9960);
  expect_length({.option = "hold", .epochs = 15, .note = "10000 9960", .config = stretched}, 10000, 9960,
                "schedule stays that of 10 epochs");
  // The run was killed before it saved, and its last checkpoint has no note. So no file tells the former length.
  expect_refused({.option = "hold", .epochs = 10, .note = "", .config = held}, ExitCode::kConfiguration, "neither");
  expect_length({.option = "stretch", .epochs = 10, .note = "", .config = stretched}, 10000, 9960);
}

TEST(ScheduleLength, is_the_same_on_other_ranks_but_for_whole_steps) {
  // 1.6 epochs are 26 steps at 16 steps an epoch, or 13 at 8 steps an epoch. 1.7 epochs are 27 or 14 steps.
  expect_length({.epochs = 1.6, .note = "1625 1576", .now = kOnFour, .done = 10}, 1625, 1512);
  expect_length({.epochs = 1.7, .note = "1688 1640", .now = kOnFour, .done = 10}, 1688, 1640);
  expect_length({.epochs = 1.7, .note = "", .config = {{"epochs", "1.7"}}, .now = kOnFour, .done = 10}, 1688, 1640);
  // The same number of steps with twice as many samples each gives another schedule.
  expect_refused({.epochs = 10, .now = kOnFour, .max_steps = "80", .done = 20}, ExitCode::kConfiguration,
                 "ask for 10 epochs");
  expect_length({.option = "hold", .epochs = 10, .now = kOnFour, .done = 20}, 5000, 4960,
                "from step 41 the rate stays");
}

TEST(ScheduleLength, is_as_many_epochs_as_before_when_images_have_come_or_gone) {
  for (const std::string note : {"5000 4960", ""}) {
    expect_length({.note = note, .now = {900, 64}, .done = 20}, 4500, 4496);
    expect_refused({.epochs = 10, .note = note, .now = {900, 64}, .done = 20}, ExitCode::kConfiguration,
                   "spans 5 epochs");
    expect_length({.option = "hold", .epochs = 10, .note = note, .now = {900, 64}, .done = 20}, 4500, 4464,
                  "of 5 epochs");
  }
}

std::int64_t steps_to(std::int64_t samples, const EpochSteps& epoch) {
  return steps_in(values_of({.epochs = 100, .max_samples = std::to_string(samples)}), epoch);
}

TEST(MaxSamples, count_what_the_short_last_step_of_an_epoch_has) {
  constexpr EpochSteps kShort{501, 500}, kLarge{100, 128};
  EXPECT_EQ(steps_to(5000, kShort), 19);
  EXPECT_EQ(kShort.samples_before(19), 5009);
  EXPECT_EQ(steps_to(500, kShort), 1);
  EXPECT_EQ(steps_to(501, kShort), 2);
  EXPECT_EQ(steps_to(502, kShort), 3);
  EXPECT_EQ(steps_to(300, kLarge), 3) << "a step is an epoch";
  EXPECT_EQ(steps_to(301, kLarge), 4);
  EXPECT_EQ(steps_to(2000, kOnTwo), 32);
  EXPECT_EQ(steps_to(640, {1280, 64}), 10) << "no short step";
}

TEST(MaxTokens, are_as_many_samples_of_context_tokens_as_hold_them) {
  const auto steps_to_tokens = [](const std::string& tokens, const std::string& samples) {
    return steps_in(values_of({.epochs = 100, .max_samples = samples, .max_tokens = tokens}), {1280, 64});
  };
  EXPECT_EQ(steps_to_tokens("40960", ""), 10);
  EXPECT_EQ(steps_to_tokens("40961", ""), 11);
  EXPECT_EQ(steps_to_tokens("1", ""), 1);
  EXPECT_EQ(steps_to_tokens("1e6", ""), 245) << "15,625 samples";
  for (const char* tokens : {"0", "0.5", "1.5", "-64", "2e18"})
    EXPECT_EQ(code_of([&] { steps_to_tokens(tokens, ""); }), ExitCode::kUsage) << tokens;
  EXPECT_EQ(steps_to_tokens("40960", "320"), 5) << "the fewer";
  EXPECT_EQ(steps_to_tokens("40960", "6400"), 10);
}

TEST(MaxSamples, a_run_of_an_older_eave_keeps_its_end_if_its_schedule_was_made_for_it) {
  constexpr EpochSteps kShort{501, 500}, kOnMore{501, 250};
  const std::map<std::string, std::string> config = {{"epochs", "100"}, {"max-samples", "5000"}};
  Resumed resumed{.epochs = 100, .note = "2505 2504", .config = config, .former = kShort, .now = kShort};
  resumed.max_samples = "5000";
  resumed.done = 4;
  expect_length(resumed, 2505, 2504);
  resumed.now = kOnMore;
  expect_length(resumed, 2505, 2504);
  resumed.max_samples = "6000";
  expect_refused(resumed, ExitCode::kConfiguration, "spans 5 epochs");
}

TEST(ScheduleLength, does_not_matter_when_no_step_is_left) {
  expect_length({.epochs = 3, .done = 48}, 3000, 2960);
  expect_length({.option = "hold", .epochs = 3, .done = 48}, 3000, 2960);
}

TEST(ScheduleLength, of_a_note_that_is_none_is_that_of_the_options) {
  for (const std::string note : {"", "5000", "5000 ", "x 4960", "5000 4960 1", "4960 5000", "5000 -1"}) {
    expect_length({.note = note}, 5000, 4960);
  }
}

}  // namespace
}  // namespace eave
