// The lock lets one owner at a time write into a directory. The tests play other owners with child processes, because
// flock alone does not tell threads of one process apart.
#include "base/files/directory_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/host.h"
#include "eave/check.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

class Locks : public testing::Test {
 protected:
  fs::path path() const { return directory_.path() / "run.lock"; }
  std::unique_ptr<DirectoryLock> take() const {
    return std::make_unique<DirectoryLock>(directory_.path(), "run.lock", "--run-dir here");
  }
  std::string refusal() const {
    const Error error = error_of([&] { take(); });
    EXPECT_TRUE(error.code() == ExitCode::kCannotCreate || error.code() == ExitCode::kDone) << error.what();
    return error.what();
  }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // Writes the lock file as an owner leaves it that was killed `age_s` seconds ago.
  void leave(const LockOwner& owner, long age_s) const {
    std::ofstream(path()) << "host " << owner.host << "\nmachine " << owner.machine << "\npid " << owner.pid
                          << "\nstarted " << owner.started << "\nsince " << owner.since << "\n";
    const timespec then = {::time(nullptr) - age_s, 0};
    const std::array<timespec, 2> times = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, path().c_str(), times.data(), 0), 0);
  }
  TemporaryDirectory directory_;
};

// Runs `body` in a child process. The constructor returns when `body` has ended; the child then waits until the
// destructor kills it.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void()>& body) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    id_ = ::fork();
    if (id_ == 0) {
      body();
      if (::write(pipe[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(pipe[1]);
    char byte = 0;
    EXPECT_EQ(::read(pipe[0], &byte, 1), 1) << "it did not get where it was to wait";
    ::close(pipe[0]);
  }
  ~OtherProcess() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  pid_t id() const { return id_; }

 private:
  pid_t id_ = -1;
};

TEST_F(Locks, name_the_owner_to_others_and_are_freed_at_the_end) {
  {
    const auto lock = take();
    EXPECT_FALSE(lock->former());
    const std::string why = refusal();
    EXPECT_TRUE(says(why, "--run-dir here: another run is in it"));
    EXPECT_TRUE(says(why, "host " + host_name() + ", pid " + std::to_string(::getpid()) + ", for "));
  }
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_EQ(refusal(), "");
}

TEST_F(Locks, of_a_process_that_was_killed_are_taken_over) {
  pid_t before = 0;
  {
    std::unique_ptr<DirectoryLock> theirs;
    const OtherProcess owner([&] { theirs = take(); });
    before = owner.id();
    EXPECT_TRUE(says(refusal(), "pid " + std::to_string(before)));
  }
  const auto lock = take();
  ASSERT_TRUE(lock->former());
  EXPECT_EQ(lock->former()->pid, before);
  EXPECT_EQ(read_lock_owner(text())->pid, ::getpid());
}

TEST_F(Locks, of_a_process_whose_number_is_another_ones_by_now_are_taken_over) {
  LockOwner owner{host_name(), machine_name(), ::getpid(), *start_of_process(::getpid()), ::time(nullptr)};
  leave(owner, 0);
  EXPECT_NE(refusal(), "") << "it lives, though its flock is not to be seen";
  --owner.started;
  leave(owner, 0);
  EXPECT_EQ(take()->former()->started, owner.started);
}

TEST_F(Locks, of_another_host_count_for_a_minute_after_they_were_touched) {
  const LockOwner owner{"elsewhere", "another-boot", 17, 4711, ::time(nullptr) - 600};
  leave(owner, 61);
  EXPECT_EQ(take()->former()->host, "elsewhere");
  leave(owner, 58);
  std::string told;
  const DirectoryLock lock(directory_.path(), "run.lock", "--run-dir here", std::chrono::seconds(0),
                           [&](const std::string& text) { told = text; });
  EXPECT_EQ(lock.former()->host, "elsewhere") << "it was not touched meanwhile";
  EXPECT_TRUE(
      says(told, "--run-dir here: the lock of a run on another machine is in it (host elsewhere, pid 17, for "));
}

TEST_F(Locks, of_another_host_are_refused_when_they_are_touched) {
  const LockOwner owner{"elsewhere", "another-boot", 17, 4711, ::time(nullptr) - 600};
  leave(owner, 0);
  const OtherProcess touching([&] {
    if (::fork() > 0) return;
    ::usleep(1500000);
    leave(owner, -1);
    ::_exit(0);
  });
  EXPECT_TRUE(says(refusal(), "another run is in it (host elsewhere, pid 17, for 10 min"));
}

TEST_F(Locks, of_a_silent_host_go_to_one_of_those_who_wait) {
  const fs::path outcomes = directory_.path() / "outcomes";
  leave({"elsewhere", "another-boot", 17, 4711, ::time(nullptr) - 600}, 58);
  const auto wait = [&] {
    if (::fork() > 0) return;
    std::unique_ptr<DirectoryLock> lock;
    const Error error = error_of([&] { lock = take(); });
    std::ofstream(outcomes, std::ios::app) << (lock ? "taken by " + std::to_string(::getpid()) : error.what()) + "\n";
    ::usleep(1500000);
    ::_exit(0);
  };
  std::vector<std::unique_ptr<OtherProcess>> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(std::make_unique<OtherProcess>(wait));
  ::usleep(4000000);
  std::ifstream file(outcomes);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t taken = all.find("taken by ");
  ASSERT_NE(taken, std::string::npos) << all;
  EXPECT_EQ(all.find("taken by ", taken + 1), std::string::npos) << all;
  const std::string owner = "pid " + all.substr(taken + 9, all.find('\n', taken) - taken - 9) + ", for ";
  std::size_t refused = 0;
  for (std::size_t at = all.find(owner); at != std::string::npos; at = all.find(owner, at + 1)) ++refused;
  EXPECT_EQ(refused, 3u) << all;
}

TEST_F(Locks, tell_readers_whether_their_owner_lives) {
  EXPECT_FALSE(living_owner(path()));
  {
    const auto lock = take();
    EXPECT_EQ(living_owner(path())->pid, ::getpid());
  }
  EXPECT_FALSE(living_owner(path()));
  LockOwner owner{host_name(), machine_name(), ::getpid(), *start_of_process(::getpid()), ::time(nullptr)};
  leave(owner, 600);
  EXPECT_TRUE(living_owner(path())) << "it is here, and may be stopped";
  EXPECT_FALSE(dead_owner(path()));
  --owner.started;
  leave(owner, 0);
  EXPECT_FALSE(living_owner(path()));
  EXPECT_EQ(dead_owner(path())->pid, ::getpid());
  owner.machine = "another-boot";
  leave(owner, 50);
  EXPECT_TRUE(living_owner(path()));
  leave(owner, 61);
  EXPECT_FALSE(living_owner(path()));
  EXPECT_FALSE(dead_owner(path())) << "another host cannot tell";
  std::ofstream(path()) << "no lock";
  EXPECT_EQ(living_owner(path())->host, "") << "somebody may be writing it";
}

TEST_F(Locks, know_whether_their_directory_was_replaced) {
  const fs::path here = directory_.path() / "here", moved = directory_.path() / "moved";
  fs::create_directory(here);
  const DirectoryLock lock(here, "run.lock", "--run-dir here");
  EXPECT_FALSE(lock.is_replaced());
  fs::rename(here, moved);
  EXPECT_FALSE(lock.is_replaced()) << "nothing is there";
  fs::create_directory(here);
  EXPECT_TRUE(lock.is_replaced()) << "the other run has ended, and freed its lock";
  fs::remove(here);
  fs::create_directory_symlink(moved, here);
  EXPECT_FALSE(lock.is_replaced()) << "it is the same directory";
  fs::remove(here / "run.lock");
  EXPECT_FALSE(lock.is_replaced()) << "somebody removed the lock";
  const DirectoryLock other(here, "run.lock", "--run-dir here");
  EXPECT_TRUE(lock.is_replaced());
  EXPECT_FALSE(other.is_replaced());
}

TEST_F(Locks, know_an_owner_who_took_over_without_seeing_their_flock) {
  const auto lock = take();
  const LockOwner owner{"elsewhere", "another-boot", 17, 4711, ::time(nullptr)};
  leave(owner, 0);
  EXPECT_TRUE(lock->is_replaced());
}

TEST_F(Locks, that_are_damaged_or_empty_name_nobody) {
  for (const std::string text : {"", "host", "host a\nmachine b\npid -3\nstarted 1\nsince 1\n", "\x1b[2Jhost a",
                                 "host a b\nmachine b\npid 3\nstarted 1\nsince 1\n"}) {
    std::ofstream(path()) << text;
    const auto lock = take();
    EXPECT_FALSE(lock->former()) << text;
  }
}

TEST_F(Locks, are_not_taken_through_a_link) {
  std::ofstream(directory_.path() / "precious") << "kept";
  fs::create_symlink("precious", path());
  EXPECT_TRUE(says(refusal(), "cannot create run.lock"));
  EXPECT_EQ(fs::file_size(directory_.path() / "precious"), 4u);
}

// Calls `try_to_take` in each of `processes` child processes at the same time, and returns how many succeeded. No child
// ends, and so frees a lock, before all have tried.
int count_of_successes(const std::function<bool()>& try_to_take, int processes) {
  std::array<int, 2> start{}, told{}, end{};
  EXPECT_EQ(::pipe(start.data()) + ::pipe(told.data()) + ::pipe(end.data()), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    ::close(start[1]);
    ::close(end[1]);
    char byte = 0;
    if (::read(start[0], &byte, 1) != 0) ::_exit(1);
    const char outcome = try_to_take() ? 'y' : 'n';
    if (::write(told[1], &outcome, 1) != 1) ::_exit(1);
    if (::read(end[0], &byte, 1) != 0) ::_exit(1);
    ::_exit(0);
  }
  ::close(start[1]);
  int owners = 0;
  for (int i = 0; i < processes; ++i) {
    char outcome = 0;
    EXPECT_EQ(::read(told[0], &outcome, 1), 1);
    owners += outcome == 'y';
  }
  ::close(end[1]);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  for (const int descriptor : {start[0], told[0], told[1], end[0]}) ::close(descriptor);
  return owners;
}

TEST_F(Locks, have_one_owner_when_many_start_at_the_same_moment) {
  const auto try_to_take = [&] { return code_of([&] { static_cast<void>(take().release()); }) == ExitCode::kDone; };
  for (int round = 0; round < 10; ++round) {  // a process that loses retries for one second
    ASSERT_EQ(count_of_successes(try_to_take, 30), 1)
        << "round " << round;  // every second round takes over a stale lock
    ASSERT_TRUE(fs::exists(path()));
    if (round % 2 == 1) fs::remove(path());
  }
}

// An owner that frees its lock must not remove the lock file that the next owner has just created.
TEST_F(Locks, have_one_owner_at_a_time_when_they_are_taken_and_freed_in_turn) {
  const std::string inside = (directory_.path() / "inside").string();
  const auto go_in_and_out = [&] {
    for (int done = 0; done < 300;) {
      try {
        const auto lock = take();
        const int mark = ::open(inside.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (mark < 0) return false;
        ::close(mark);
        ::unlink(inside.c_str());
        ++done;
      } catch (const Error&) {
      }
    }
    return true;
  };
  EXPECT_EQ(count_of_successes(go_in_and_out, 4), 4) << "two were inside at once";
}

}  // namespace
}  // namespace eave
