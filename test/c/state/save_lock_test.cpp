// Tests that one job at a time saves in a directory.
#include "c/state/save_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "eave/check.h"
#include "report/record/run_directory.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Another process that saves there, until it is killed.
class OtherSaver {
 public:
  explicit OtherSaver(const fs::path& checkpoints) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      SaveLock lock;
      lock.hold(checkpoints);
      if (write(ends[1], "x", 1) == 1) pause();
      _exit(1);
    }
    char letter = 0;
    EXPECT_EQ(read(ends[0], &letter, 1), 1);
    close(ends[0]);
    close(ends[1]);
  }
  ~OtherSaver() { kill_now(); }

  pid_t process() const { return process_; }
  void kill_now() {
    if (process_ > 0 && kill(process_, SIGKILL) == 0) waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
};

fs::path checkpoints_in(const TemporaryDirectory& place) {
  const fs::path path = fs::path(place.path()) / "run" / "checkpoint";
  fs::create_directories(path);
  return path;
}

TEST(SaveLock, names_the_job_that_saves_there) {
  const TemporaryDirectory place;
  const fs::path path = checkpoints_in(place);
  OtherSaver other(path);
  SaveLock lock;
  const Error error = error_of([&] { lock.hold(path, std::chrono::seconds(0)); });
  EXPECT_EQ(error.code(), ExitCode::kCannotCreate);
  const std::string message = error.what();
  EXPECT_NE(message.find("save to " + path.string() + ": another run is in it (host "), std::string::npos) << message;
  EXPECT_NE(message.find("pid " + std::to_string(other.process()) + ","), std::string::npos) << message;
  other.kill_now();
  lock.hold(path);  // the lock of a killed job does not block the next one
  EXPECT_TRUE(fs::exists(path / kRunLock));
}

TEST(SaveLock, is_refused_where_another_job_records_its_run) {
  const TemporaryDirectory place;
  const fs::path path = checkpoints_in(place);
  const OtherSaver other(path.parent_path());  // its lock is that of a run there
  SaveLock lock;
  const Error error = error_of([&] { lock.hold(path, std::chrono::seconds(0)); });
  EXPECT_EQ(error.code(), ExitCode::kCannotCreate);
}

TEST(SaveLock, is_shared_within_a_process) {
  const TemporaryDirectory place;
  const fs::path path = checkpoints_in(place);
  const DirectoryLock of_run(OutputFolder(path.parent_path()), kRunLock, "a run");
  {
    SaveLock first, second;
    first.hold(path);
    first.hold(path);
    second.hold(path);
  }
  EXPECT_FALSE(fs::exists(path / kRunLock));
  EXPECT_TRUE(fs::exists(path.parent_path() / kRunLock));
}

}  // namespace
}  // namespace eave
