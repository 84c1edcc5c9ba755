// If a checkpoint cannot be written, training goes on, earlier checkpoints stay, and the next one is written.
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint_directory.h"
#include "test/base/failing_calls.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"
#include "train/saving/checkpoint_load.h"

namespace eave {
namespace {

using CallFault = FailingCalls::Kind;

constexpr std::int64_t kEvery = 3, kSteps = 9;

TrainingSetting setting_for(const std::filesystem::path& directory) {
  TrainingSetting setting = setting_with("easgd");
  setting.model = "flatten; dense 4; relu; dense classes";
  setting.plan.steps = kSteps;
  setting.plan.checkpoints.directory = directory;
  setting.plan.checkpoints.every_steps = kEvery;
  setting.plan.checkpoints.kept = 2;
  return setting;
}

// The result of a run in which one rank's file calls fail. Its checkpoint of step 3 was written before.
struct Outcome {
  std::vector<float> parameters;
  std::vector<std::string> warnings;
  std::int64_t newest = 0;
  int calls = 0;
};

void expect_intact(const std::filesystem::path& directory, std::int64_t step) {
  EXPECT_NO_THROW(verify_checkpoint(directory, read_manifest(directory, step))) << step;
}

// Runs on two ranks with `fault` on rank `failing`. If `without_access`, rank 0 writes the files of rank 1.
Outcome run_with(FailingCalls::Fault fault, int failing, bool without_access) {
  Outcome outcome;
  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path() / "checkpoint";
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting = setting_for(directory);
    if (without_access) setting.take_access(transport, {1});
    setting.plan.steps = kEvery;
    Training(transport, setting).run();
    setting.plan.first_step = kEvery;
    setting.plan.steps = kSteps;
    FailingCalls own(transport.rank() == failing ? fault : FailingCalls::Fault{});
    Training training(transport, setting);
    training.files = &own;
    training.at_warning = [&](const std::string&) { expect_intact(directory, kEvery); };
    training.at_step = [&](const StepRecord& record) {
      // By now, saving at step 6 has been tried. It has ended, or the trainer waits for it.
      if (record.step == 2 * kEvery + 1) own.heal();
    };
    training.run();
    const auto found =
        find_checkpoint(transport, setting.plan.checkpoints.directory, setting.plan.checkpoints.ranks_without_access);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->passed_over.empty()) << found->passed_over[0];
    if (transport.rank() == failing) outcome.calls = own.count();
    if (transport.rank() != 0) return;
    for (const std::int64_t step : committed_steps(directory)) expect_intact(directory, step);
    outcome.parameters = training.parameters();
    outcome.warnings = training.warnings;
    outcome.newest = found->manifest.step;
  });
  return outcome;
}

enum class Where { kFirst, kSecond, kFirstForSecond };

class WriteFaults : public testing::TestWithParam<std::tuple<CallFault, bool, Where>> {};

TEST_P(WriteFaults, at_any_call_leave_training_as_it_is_and_a_whole_checkpoint) {
  const auto& [kind, persists, where] = GetParam();
  const int failing = where == Where::kSecond ? 1 : 0;
  const bool without_access = where == Where::kFirstForSecond;
  const Outcome undisturbed = run_with({}, failing, without_access);
  EXPECT_EQ(undisturbed.newest, kSteps);
  EXPECT_TRUE(undisturbed.warnings.empty());
  EXPECT_GE(undisturbed.calls, without_access ? 50 : 10);
  for (int first = 1; first <= undisturbed.calls && !HasFailure(); ++first) {
    const Outcome outcome = run_with({first, kind, persists}, failing, without_access);
    EXPECT_EQ(outcome.parameters, undisturbed.parameters) << first;
    EXPECT_LE(outcome.warnings.size(), 2u) << first;
    for (const std::string& warning : outcome.warnings) {
      EXPECT_NE(warning.find("/checkpoint"), std::string::npos) << warning;
      EXPECT_NE(warning.find("training goes on"), std::string::npos) << warning;
    }
    EXPECT_GE(outcome.newest, outcome.warnings.empty() ? kSteps : kEvery) << first;
    if (kind == CallFault::kShortWrite || (kind == CallFault::kInterrupted && !persists)) {
      EXPECT_TRUE(outcome.warnings.empty()) << first << ": " << outcome.warnings[0];
    }
  }
}

// A file server that no longer knows its files (stale handle), and an exhausted quota.
INSTANTIATE_TEST_SUITE_P(OfServers, WriteFaults,
                         testing::Combine(testing::Values(CallFault::kStale, CallFault::kQuota), testing::Values(true),
                                          testing::Values(Where::kFirst)));
INSTANTIATE_TEST_SUITE_P(All, WriteFaults,
                         testing::Combine(testing::Values(CallFault::kNoSpace, CallFault::kInputOutput,
                                                          CallFault::kInterrupted, CallFault::kShortWrite),
                                          testing::Bool(),
                                          testing::Values(Where::kFirst, Where::kSecond, Where::kFirstForSecond)));

TEST(RequiredCheckpoint, that_cannot_be_written_ends_the_run_with_74_on_all_ranks) {
  const TemporaryDirectory temporary;
  const EndedJob ended = run_job(2, [&](Transport& transport) {
    TrainingSetting setting = setting_for(temporary.path() / "checkpoint");
    setting.plan.checkpoints.is_required = true;
    FailingCalls own(transport.rank() == 1 ? FailingCalls::Fault{3, CallFault::kNoSpace, true} : FailingCalls::Fault{});
    Training training(transport, setting);
    training.files = &own;
    training.run();
  });
  EXPECT_EQ(ended.code, 74);
}

// Another run takes the directory before rank 0 asks for the `nth` time: before the first checkpoint is written, or
// before it is committed.
void expect_other_run_intact(int nth, bool without_access) {
  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path() / "checkpoint";
  const std::filesystem::path other = partial_folder(directory, kEvery).path() / "other.state";
  on_ranks({"threads", 2}, [&](Transport& transport) {
    TrainingSetting setting = setting_for(directory);
    if (without_access) setting.take_access(transport, {1});
    FailingCalls calls({});
    Training training(transport, setting);
    training.files = &calls;
    int asked = 0;
    training.require_directory = [&] {
      if (++asked < nth) return;
      if (asked == nth) std::filesystem::create_directories(other.parent_path());
      if (asked == nth) std::ofstream(other) << "other";
      throw Error(ExitCode::kInputOutput, "the directory was replaced");
    };
    training.run();
    EXPECT_EQ(training.warnings.size(), transport.rank() == 0 ? 3u : 0u);
    for (const std::string& warning : training.warnings)
      EXPECT_NE(warning.find("the directory was replaced"), std::string::npos) << warning;
    EXPECT_TRUE(nth == 2 || calls.count() == 0);
  });
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_TRUE(committed_steps(directory).empty());
}

TEST(ReplacedDirectory, gets_no_file_from_any_rank_and_loses_none) {
  for (const bool without_access : {false, true}) {
    for (const int nth : {1, 2}) expect_other_run_intact(nth, without_access);
  }
}

// The fault ends between two attempts. The next checkpoint is then complete without anyone's help.
TEST(NextCheckpoint, works_once_the_disk_does) {
  const TemporaryDirectory temporary;
  const std::filesystem::path directory = temporary.path() / "checkpoint";
  on_ranks({"threads", 2}, [&](Transport& transport) {
    FailingCalls own(transport.rank() == 0 ? FailingCalls::Fault{1, CallFault::kNoSpace, true} : FailingCalls::Fault{});
    Training training(transport, setting_for(directory));
    training.files = &own;
    training.at_warning = [&](const std::string&) {
      if (training.warnings.size() == 2) own.heal();
    };
    training.run();
    const auto found = find_checkpoint(transport, directory);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->manifest.step, kSteps);
    EXPECT_EQ(committed_steps(directory), std::vector<std::int64_t>{kSteps});
    EXPECT_EQ(training.warnings.size(), transport.rank() == 0 ? 2u : 0u);
  });
}

}  // namespace
}  // namespace eave
