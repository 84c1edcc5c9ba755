// Tests that a checkpoint which its run has removed does not count as damaged.
#include "app/commands/checkpoint_reading.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_directory.h"
#include "eave/check.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

struct CheckpointOfStep7 : testing::Test {
  CheckpointOfStep7() { fs::create_directory(place); }
  CheckpointReading read(const std::function<void()>& reading) const {
    return read_or_tell(directory.path(), 7, reading);
  }

  const TemporaryDirectory directory;
  const fs::path place = checkpoint_path(directory.path(), 7);
};

TEST_F(CheckpointOfStep7, is_whole_if_it_can_be_read) {
  const CheckpointReading reading = read([] {});
  EXPECT_EQ(reading.damage, "");
  EXPECT_FALSE(reading.was_removed);
}

TEST_F(CheckpointOfStep7, is_damaged_if_it_cannot_be_read_and_is_still_there) {
  const CheckpointReading reading = read([&] { read_manifest(directory.path(), 7); });
  EXPECT_NE(reading.damage.find("manifest.json"), std::string::npos) << reading.damage;
  EXPECT_FALSE(reading.was_removed);
}

TEST_F(CheckpointOfStep7, is_not_damaged_if_its_run_removes_it_meanwhile) {
  const CheckpointReading reading = read([&] {
    fs::remove_all(place);
    read_manifest(directory.path(), 7);
  });
  EXPECT_EQ(reading.damage, "");
  EXPECT_TRUE(reading.was_removed);
}

TEST_F(CheckpointOfStep7, is_damaged_if_its_disk_fails) {
  const CheckpointReading reading = read([] { throw Error(ExitCode::kInputOutput, "cannot read rank-0.state"); });
  EXPECT_EQ(reading.damage, "cannot read rank-0.state");
}

TEST_F(CheckpointOfStep7, is_not_judged_by_errors_of_another_kind) {
  expect_error(ExitCode::kResource, "no memory", [&] { read([] { throw Error(ExitCode::kResource, "no memory"); }); });
}

}  // namespace
}  // namespace eave
