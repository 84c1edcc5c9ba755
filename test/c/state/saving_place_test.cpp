// Tests that saving loses no checkpoint of another job, and that a checkpoint survives a loss of power.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "c/state/state_files.h"
#include "checkpoint/checkpoint_directory.h"
#include "eave/device.h"
#include "test/base/power_loss.h"
#include "test/c/quadratic_loop.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"
#include "test/train/saving/checkpoint_files.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

constexpr const char* kMethod = "communicator=easgd tau=2 lr=0.1";

// A rank that loads from `loaded`, if that is not empty, and saves after each of `steps`.
void train_and_save(Transport& transport, const Steps& steps, const fs::path& place, const fs::path& loaded) {
  QuadraticLoop loop(transport, kMethod);
  if (!loaded.empty()) {
    EXPECT_TRUE(loop.averager.load(loaded));
  }
  for (const std::int64_t step : steps) {
    while (loop.averager.steps() < step) loop.step();
    loop.averager.save(place, "", 9);
  }
  loop.averager.finish();
}

void save_after(const Steps& steps, const fs::path& place, const fs::path& loaded = {}) {
  on_ranks({"threads", 2}, [&](Transport& transport) { train_and_save(transport, steps, place, loaded); });
}

// As checkpoints of a job that has ended: this process has loaded from `place` or saved there before, if at all, when
// it had another name.
void save_before(const Steps& steps, const fs::path& place) {
  const fs::path elsewhere = place.string() + ".then";
  save_after(steps, elsewhere);
  fs::rename(elsewhere, place);
}

// Expects that both ranks end with one message, and change nothing in `place`.
void expect_unsaved(std::int64_t step, const fs::path& place, const std::string& words, const fs::path& loaded = {}) {
  const Steps before = committed_steps(place);
  const JobResult result =
      run_job({"threads", 2}, [&](Transport& transport) { train_and_save(transport, {step}, place, loaded); });
  EXPECT_EQ(result.code, static_cast<int>(ExitCode::kUsage));
  EXPECT_EQ(count_of(result.printed, words), 1) << result.printed;
  EXPECT_EQ(committed_steps(place), before);
}

void damage(const fs::path& place, std::int64_t step) {
  flip_bit(checkpoint_path(place, step) / rank_file_name(1), 5000);
}

TEST(SavingPlace, of_another_job_loses_no_checkpoint) {
  const TemporaryDirectory temporary;
  const fs::path place = temporary.path() / "runs";
  save_before({2, 4, 5}, place);
  expect_unsaved(3, place,
                 "save to " + place.string() +
                     ": it has step-000005, which this job has not loaded, and saving step 3 would remove it; "
                     "load it before the first step to go on from it, save to another directory, or remove step-000003 "
                     "and later ones");
  expect_unsaved(5, place, "or remove step-000005");
  save_after({6, 6}, place);  // loses none, and goes on
  EXPECT_EQ(committed_steps(place), (Steps{2, 4, 5, 6}));
}

TEST(SavingPlace, of_another_job_keeps_the_one_that_it_was_about_to_replace) {
  const TemporaryDirectory temporary;
  const fs::path place = temporary.path() / "runs", step = checkpoint_path(place, 4);
  save_before({4}, place);
  fs::rename(step, step.string() + ".replaced.partial");
  const JobResult result =
      run_job({"threads", 2}, [&](Transport& transport) { train_and_save(transport, {3}, place, {}); });
  EXPECT_EQ(result.code, static_cast<int>(ExitCode::kUsage)) << result.printed;
  EXPECT_EQ(committed_steps(place), Steps{4});
}

TEST(SavingPlace, from_which_the_job_has_loaded_loses_what_it_passed_over) {
  const TemporaryDirectory temporary;
  const fs::path place = temporary.path() / "runs", link = temporary.path() / "link";
  save_before({2, 4, 5}, place);
  fs::create_directory_symlink("runs", link);
  damage(place, 4);
  damage(place, 5);
  expect_unsaved(3, temporary.path() / "runs" / ".." / "runs", "which this job has not loaded");
  save_after({4}, place, link);
  EXPECT_EQ(committed_steps(place), (Steps{2, 4}));
  save_before({5}, temporary.path() / "other");
  expect_unsaved(5, temporary.path() / "other", "which this job has not loaded", place);
}

// A model that is loaded anew in the middle of a job begins the method anew, with step 0.
TEST(SavingPlace, of_an_earlier_averager_of_the_program_is_used_with_a_warning) {
  const TemporaryDirectory temporary;
  const fs::path place = temporary.path() / "runs";
  save_after({2, 4}, place);
  const JobResult result = run_job({"threads", 2}, [&](Transport& transport) {
    train_and_save(transport, {3, 3}, place, {});
  });
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(count_of(result.printed, "warning: saving step 3 to " + place.string() +
                                         " removes step-000004, which an earlier averager of this program saved"),
            1)
      << result.printed;
  EXPECT_EQ(committed_steps(place), (Steps{2, 3}));
}

TEST(SavingPlace, that_another_job_has_gone_on_in_is_no_longer_the_program_s) {
  const TemporaryDirectory temporary;
  const fs::path place = temporary.path() / "runs";
  save_after({2}, place);
  fs::copy(checkpoint_path(place, 2), checkpoint_path(place, 7), fs::copy_options::recursive);
  expect_unsaved(3, place, "it has step-000007, which this job has not loaded");
}

TEST(SavingPlace, stays_the_same_if_the_job_changes_its_working_directory) {
  const TemporaryDirectory temporary;
  const fs::path former = fs::current_path();
  save_before({2, 3}, temporary.path() / "runs");
  damage(temporary.path() / "runs", 3);
  fs::current_path(temporary.path());
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    QuadraticLoop loop(transport, kMethod);
    EXPECT_TRUE(loop.averager.load("runs"));
    fs::current_path(former);
    loop.step();
    loop.averager.save(temporary.path() / "runs", "", 3);
  });
  EXPECT_EQ(committed_steps(temporary.path() / "runs"), (Steps{2, 3}));
}

TEST(SavingPlace, that_is_new_survives_a_loss_of_power) {
  const TemporaryDirectory temporary, disk;
  RecordedCalls calls(temporary.path());
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    SaveLock lock;
    const std::vector<float> values = crafted_values(37, 1);
    StateToSave state{{{"seed", "1"}}, {}};
    CheckpointHeader header = crafted_header(0, 1, 1);
    header.vectors.clear();
    state.taken.begin(header);
    state.taken.add(cpu_device(), "parameters", values, false);
    save_checkpoint(transport, temporary.path() / "checkpoint", state, 3, lock, calls);
  });
  calls.mark(1);
  calls.replay({calls.count(), RecordedCalls::Data::kLost, 0}, disk.path() / "run");
  EXPECT_EQ(committed_steps(disk.path() / "run/checkpoint"), Steps{1});
}

}  // namespace
}  // namespace eave
