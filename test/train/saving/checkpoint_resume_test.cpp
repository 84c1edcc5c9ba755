// Saving changes no bit of a run's result. A run that resumes from any of its checkpoints ends with the same bits, too.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_directory.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"
#include "train/saving/checkpoint_load.h"

namespace eave {
namespace {

constexpr std::int64_t kStepsInAll = 15;  // on 2 ranks an epoch has six steps, and the warm-up takes eight
const std::string kLate = "easgd-async whose pulls come late";

std::vector<std::string> methods_to_resume() {
  std::vector<std::string> names = communicator_names(2);
  names.push_back(kLate);
  return names;
}

class Resumed : public testing::TestWithParam<std::string> {
 protected:
  static TrainingSetting setting() {
    const bool is_late = GetParam() == kLate;
    TrainingSetting setting = setting_with(is_late ? "easgd-async" : GetParam(), 2);
    if (is_late) setting.averaging.emplace_back("pull-delay", "1");
    setting.model = "conv2d 4 3x3 pad 1; batch_norm; relu; max_pool 2; flatten; dense 8; dropout 0.5; dense classes";
    setting.rate = {{"lr", "0.02"}, {"warmup-epochs", "1.4"}, {"warmup-from", "0.1"}};
    setting.plan.steps = kStepsInAll;
    setting.plan.log_every_steps = 4;
    setting.plan.clip_norm = 0.5;
    if (find_kind(communicator_kinds(), setting.communicator).traits.exchanges_together) setting.ema_decay = 0.75;
    setting.ema_every = 4;
    setting.plan.replica_hash_every = 1000;  // not 0, so replicas are compared right after loading
    return setting;
  }
};

// The results of a run that must be equal. Times are left out. If ranks exchange on their own, bytes are left out, too:
// a reply counts when it is sent, and the end of a run sends less if the consensus was asked for before.
struct Trace {
  std::vector<float> parameters, center, statistics, average;
  std::vector<std::vector<double>> steps;
  TrainingProgress progress;
};

Trace trace_of(Transport& transport, const TrainingSetting& setting) {
  Training training(transport, setting);
  Trace trace;
  trace.progress = training.run().progress;
  const bool has_bytes = training.parts().traits.exchanges_together;
  if (!has_bytes) trace.progress.bytes = 0;
  trace.parameters = training.parameters();
  trace.center = training.center();
  trace.statistics = training.statistics();
  trace.average = training.average();
  for (const StepRecord& step : training.steps) {
    trace.steps.push_back({static_cast<double>(step.step), static_cast<double>(step.samples), step.epoch, step.loss,
                           step.learning_rate, has_bytes ? static_cast<double>(step.bytes) : 0,
                           step.gradient_norm.value_or(-1)});
  }
  return trace;
}

void expect_same(const Trace& trace, const Trace& whole, const std::string& how) {
  EXPECT_EQ(trace.parameters, whole.parameters) << how;
  EXPECT_EQ(trace.center, whole.center) << how;
  EXPECT_EQ(trace.statistics, whole.statistics) << how;
  EXPECT_EQ(trace.average, whole.average) << how;
  EXPECT_EQ(trace.progress.samples, whole.progress.samples) << how;
  EXPECT_EQ(trace.progress.bytes, whole.progress.bytes) << how;
  ASSERT_LE(trace.steps.size(), whole.steps.size());
  const auto first = whole.steps.end() - std::ssize(trace.steps);
  EXPECT_EQ(trace.steps, std::vector<std::vector<double>>(first, whole.steps.end())) << how;
}

// Saves after each step, and resumes from each `stride`-th checkpoint.
void expect_resumes(TrainingSetting setting, const std::vector<int>& without_access, std::int64_t stride) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting these = setting;
    const Trace whole = trace_of(transport, these);
    these.plan.checkpoints.directory = temporary.path() / "checkpoint";
    these.plan.checkpoints.every_steps = 1;
    these.plan.checkpoints.kept = kStepsInAll;
    these.take_access(transport, without_access);
    expect_same(trace_of(transport, these), whole, "saving after each step");
    for (std::int64_t step = 1; step < kStepsInAll; step += stride) {
      TrainingSetting resumed = these;
      resumed.plan.checkpoints.every_steps = 0;
      resumed.plan.first_step = step;
      expect_same(trace_of(transport, resumed), whole, "from step " + std::to_string(step));
    }
  });
}

TEST_P(Resumed, after_any_step_ends_with_the_bits_of_the_undisturbed) { expect_resumes(setting(), {}, 1); }

// Some of these checkpoints are in the middle of an epoch or of a period of tau.
TEST_P(Resumed, where_a_rank_does_not_see_the_directory_ends_with_the_bits_of_the_undisturbed) {
  expect_resumes(setting(), {1}, 3);
}

INSTANTIATE_TEST_SUITE_P(With, Resumed, testing::ValuesIn(methods_to_resume()), in_identifiers);

TEST(SavedCheckpoints, are_the_newest_and_the_multiples) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting;
    setting.plan.steps = 17;
    setting.plan.checkpoints = {
        .directory = temporary.path() / "checkpoint", .every_steps = 2, .kept = 3, .keep_every = 4};
    Training training(transport, setting);
    const TrainingResult result = training.run();
    EXPECT_EQ(result.checkpoints, 9);
    EXPECT_GT(result.checkpoint_seconds, 0);
    EXPECT_EQ(committed_steps(setting.plan.checkpoints.directory), (std::vector<std::int64_t>{4, 8, 12, 14, 16, 17}));
  });
}

TEST(SavedCheckpoints, are_committed_when_what_was_told_is_on_the_disk) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting;
    setting.plan.checkpoints = {.directory = temporary.path() / "checkpoint", .every_steps = 4, .kept = 10};
    Training training(transport, setting);
    std::vector<std::size_t> committed;
    training.flush = [&] {
      committed.push_back(committed_steps(setting.plan.checkpoints.directory).size());
      return committed.size() == 2 ? "cannot flush the log" : "";
    };
    EXPECT_EQ(training.run().checkpoints, 3);
    const bool is_first = transport.rank() == 0;
    const std::vector<std::size_t> expected{0, 1, 2};
    EXPECT_EQ(committed, is_first ? expected : std::vector<std::size_t>());
    EXPECT_EQ(training.warnings, std::vector<std::string>(is_first ? 1 : 0, "cannot flush the log"));
  });
}

TEST(SavedCheckpoints, come_by_the_clock_on_all_ranks_at_the_same_step) {
  for (const std::string method : {"allreduce", "none"}) {
    const TemporaryDirectory temporary;
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting;
      setting.communicator = method;
      setting.plan.steps = 2000;
      setting.plan.checkpoints = {.directory = temporary.path() / "checkpoint", .every_seconds = 0.01, .kept = 1000};
      Training training(transport, setting);
      const TrainingResult result = training.run();
      EXPECT_GE(result.checkpoints, 2) << method;
      EXPECT_EQ(result.checkpoints, std::ssize(committed_steps(setting.plan.checkpoints.directory)));
    });
  }
}

// The exit code of a run on data of identity `mine` that resumes a checkpoint of data with identity `saved`. "" is data
// without an identity.
int resumed_with(const std::string& saved, const std::string& mine) {
  const TemporaryDirectory temporary;
  const auto run = [&](const std::string& identity, std::int64_t first_step) {
    const EndedJob ended = run_job(1, [&](Transport& transport) {
      TrainingSetting setting;
      setting.plan.steps = 6;
      setting.plan.checkpoints = {.directory = temporary.path() / "checkpoint", .every_steps = 3, .kept = 9};
      setting.plan.first_step = first_step;
      DataSplit data = crafted_data(setting.samples, setting.test_samples);
      data.identity = identity;
      Training(transport, setting, std::move(data)).run();
    });
    return ended.code;
  };
  EXPECT_EQ(run(saved, 0), 0);
  return run(mine, 3);
}

TEST(ResumedData, of_another_identity_is_refused) {
  EXPECT_EQ(resumed_with("one", "one"), 0);
  EXPECT_EQ(resumed_with("one", "other"), 78);
  EXPECT_EQ(resumed_with("", "one"), 0) << "saved before data had one";
}

}  // namespace
}  // namespace eave
