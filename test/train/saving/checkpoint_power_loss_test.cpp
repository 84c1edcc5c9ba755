// If power fails at any moment, the newest committed checkpoint can be loaded, or a newer one.
#include <gtest/gtest.h>

#include "base/files/output_file.h"
#include "test/base/power_loss.h"
#include "test/temporary_directory.h"
#include "test/train/saving/checkpoint_files.h"
#include "test/train/training.h"
#include "train/saving/checkpoint_load.h"
#include "train/saving/checkpoints.h"

namespace eave {
namespace {

// Saves checkpoints after each of five steps as a run does, and keeps two.
void save_some(RecordedCalls& calls, Transport& transport, const std::filesystem::path& run) {
  TrainingSetting setting;
  setting.model = "flatten; dense 4; relu; dense classes";
  setting.plan.checkpoints.directory = run / "checkpoint";
  setting.plan.checkpoints.kept = 2;
  Training training(transport, setting);
  training.files = &calls;
  const TrainingParts parts = training.parts();
  const TrainingEvents events;
  Checkpoints checkpoints(parts, training.plan(), events);
  parts.communicator.begin(parts.replica.view());
  checkpoints.begin({});
  for (std::int64_t step = 1; step <= 5; ++step) {
    TrainingProgress progress;
    progress.steps = step;
    ASSERT_TRUE(checkpoints.save_now(progress));
    calls.mark(step);
  }
}

TEST(PowerLoss, at_any_call_leaves_the_newest_committed_checkpoint) {
  const TemporaryDirectory temporary;
  RecordedCalls calls(temporary.path());
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    save_some(calls, transport, temporary.path());
    ASSERT_GT(calls.count(), 60u);
    int points = 0;
    for (std::size_t made = 0; made <= calls.count() && !testing::Test::HasFailure(); ++made) {
      for (const RecordedCalls::Data data :
           {RecordedCalls::Data::kKept, RecordedCalls::Data::kLost, RecordedCalls::Data::kTorn}) {
        for (std::size_t back = 0; back <= std::min<std::size_t>(made, 12); ++back) {
          const TemporaryDirectory disk;
          const std::size_t names_kept = back == 12 ? 0 : made - back;
          const std::int64_t committed = calls.replay({made, data, names_kept}, disk.path() / "run");
          const auto found = committed > 0 || std::filesystem::exists(disk.path() / "run/checkpoint")
                                 ? find_checkpoint(transport, disk.path() / "run/checkpoint")
                                 : std::nullopt;
          ++points;
          ASSERT_EQ(found.has_value(), committed > 0 || found.has_value());
          if (!found) continue;
          EXPECT_GE(found->manifest.step, committed) << made << " calls, " << names_kept << " names kept"
                                                     << (found->passed_over.empty() ? "" : found->passed_over[0]);
        }
      }
    }
    EXPECT_GT(points, 1000);
  });
}

// A run that resumes with another number of ranks counts its steps anew, so it may save the same step again.
TEST(PowerLoss, while_one_of_the_same_step_is_replaced_leaves_one_of_both) {
  const TemporaryDirectory temporary;
  RecordedCalls calls(temporary.path());
  const std::filesystem::path directory = temporary.path() / "checkpoint";
  for (int time = 0; time < 2; ++time) {
    write_crafted(directory, 3, calls);
    flush_directory(temporary.path(), calls);
    calls.mark(3);
  }
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    int replaced = 0;
    for (std::size_t made = 0; made <= calls.count() && !testing::Test::HasFailure(); ++made) {
      for (const RecordedCalls::Data data : {RecordedCalls::Data::kKept, RecordedCalls::Data::kLost}) {
        for (std::size_t back = 0; back <= std::min<std::size_t>(made, 6); ++back) {
          const TemporaryDirectory disk;
          if (calls.replay({made, data, made - back}, disk.path() / "run") == 0) continue;
          const std::filesystem::path left = disk.path() / "run/checkpoint";
          replaced += committed_steps(left).empty() ? 1 : 0;
          const auto found = find_checkpoint(transport, left);
          ASSERT_TRUE(found) << made << " calls, " << made - back << " names kept";
          EXPECT_EQ(found->manifest.step, 3);
        }
      }
    }
    EXPECT_GT(replaced, 0) << "at some moment it has no name";
  });
}

}  // namespace
}  // namespace eave
