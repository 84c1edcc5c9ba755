// Signals ask a run without mpirun to leave: Ctrl-C, the end of its terminal, and SIGUSR1 from the program's first
// moment on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "test/program/expectations.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

// A run in the background, in a directory of its own.
class Started {
 public:
  Started(const Place& place, const std::string& words, sighandler_t hearing = SIG_DFL) : place_(place) {
    child_ = fork();
    if (child_ != 0) return;
    for (const int signal : {SIGINT, SIGHUP}) ::signal(signal, hearing);
    const int file = open((place.path() / "errors").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    dup2(file, STDERR_FILENO);
    dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDOUT_FILENO);
    const std::string command = "cd '" + place.path().string() + "' && exec " + program() + " " + words;
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  ~Started() {
    if (child_ > 0) kill(child_, SIGKILL);
  }
  void signal(int which) const { kill(child_, which); }
  pid_t process() const { return child_; }
  std::string says() const { return place_.read("errors"); }
  bool waits_for(const std::function<bool()>& is_so) const {
    for (int look = 0; look < 2000; ++look, std::this_thread::sleep_for(5ms))
      if (is_so()) return true;
    return false;
  }
  bool trains() const {
    return waits_for([this] { return place_.read("run/metrics.jsonl").find("\"step\"") != std::string::npos; });
  }
  // Waits for the end and returns the exit code, 128 plus the signal that ended the run, or -1 if it still ran after 20
  // s.
  int code() {
    int status = 0;
    for (int look = 0; look < 2000; ++look, std::this_thread::sleep_for(10ms)) {
      if (waitpid(child_, &status, WNOHANG) != child_) continue;
      child_ = 0;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return -1;
  }

 private:
  const Place& place_;
  pid_t child_ = 0;
};

const std::string kLong = quick("--epochs 100000 --evaluate-every 1000 --run-dir run --resume auto ");

TEST(Leaving, is_asked_for_by_ctrl_c_and_by_the_end_of_a_terminal_too) {
  const std::vector<std::pair<int, std::string>> cases = {
      {SIGINT, ""}, {SIGINT, "--transport threads --ranks 2"}, {SIGHUP, ""}, {SIGTERM, ""}};
  for (const auto& [signal, ranks] : cases) {
    const Place place;
    Started run(place, kLong + ranks);
    ASSERT_TRUE(run.trains()) << run.says();
    run.signal(signal);
    EXPECT_EQ(run.code(), 75) << signal << run.says();
    expect_parts(run.says(), {"left on request after step"});
    for (const std::string command : {"watch run", "summary run"}) {
      const Ended told = place.eave(command);
      EXPECT_TRUE(told.says("the run in run left on request after step")) << told.errors;
      EXPECT_FALSE(told.says("failed")) << told.errors;
    }
    expect_end(0, place.eave(kLong + ranks + " --stop-after-time 1us"));
  }
}

// In a recorded order, one worker may need an exchange of a later step of the other. Both cannot stop before that.
TEST(Leaving, waits_in_a_replay_until_its_order_lets_all_ranks_stop) {
  const std::string words =
      quick("--epochs 100 --evaluate-every 100 --communicator easgd-async --tau 1 --transport threads --ranks 2 ");
  const Place place;
  expect_end(0, place.eave(words + "--run-dir free"));
  Started run(place, words + "--replay free/exchanges.order --shape-compute 5ms --run-dir run");
  ASSERT_TRUE(run.trains()) << run.says();
  run.signal(SIGTERM);
  EXPECT_EQ(run.code(), 75) << run.says();
  expect_parts(run.says(), {"; a replay cannot go on from there: run it again with --overwrite, from its beginning"});
  expect_end(0, place.eave(words + "--replay free/exchanges.order --run-dir run --overwrite"));
}

// A rank that only keeps the center waits in no step. Before its next meeting with the others lie hours.
TEST(Leaving, of_a_run_with_a_rank_for_the_center_does_not_wait_for_a_meeting) {
  const std::string words = kLong +
                            "--communicator easgd-async --tau 2 --center-ranks 1 --shape-compute 20ms "
                            "--checkpoint-every 100000 --transport threads --ranks 3 ";
  const Place place;
  Started run(place, words);
  ASSERT_TRUE(run.trains()) << run.says();
  run.signal(SIGUSR1);
  EXPECT_EQ(run.code(), 75) << run.says();
  expect_end(0, place.eave(words + " --stop-after-time 1us"));
}

TEST(Leaving, by_a_second_ctrl_c_ends_at_once) {
  const Place place;
  Started run(place, kLong + "--shape-compute 8s");  // one step takes longer than the test waits
  ASSERT_TRUE(run.waits_for([&] { return std::filesystem::exists(place.path() / "run/metrics.jsonl"); })) << run.says();
  run.signal(SIGINT);
  EXPECT_TRUE(run.waits_for([&] { return run.says().find("a second Ctrl-C ends it at once") != std::string::npos; }));
  std::this_thread::sleep_for(350ms);  // as long as a person takes at least
  run.signal(SIGINT);
  EXPECT_EQ(run.code(), 128 + SIGINT) << run.says();
}

TEST(Leaving, is_asked_for_by_one_sigterm_that_a_launcher_passes_on_twice) {
  const Place place;
  Started run(place, kLong + "--shape-compute 500ms");
  ASSERT_TRUE(run.trains()) << run.says();
  for (int i = 0; i < 3; ++i, std::this_thread::sleep_for(5ms)) run.signal(SIGTERM);
  EXPECT_EQ(run.code(), 75) << run.says();
}

// When a terminal is closed, its shell and then the kernel send SIGHUP. Wrappers pass on a Ctrl-C from the terminal.
TEST(Leaving, is_asked_for_by_a_signal_that_comes_twice_within_a_millisecond) {
  for (const int signal : {SIGHUP, SIGINT}) {
    const Place place;
    Started run(place, kLong + "--shape-compute 500ms");
    ASSERT_TRUE(run.trains()) << run.says();
    run.signal(signal);
    std::this_thread::sleep_for(1ms);
    run.signal(signal);
    EXPECT_EQ(run.code(), 75) << signal << run.says();
  }
}

TEST(Leaving, by_a_second_sigterm_after_2_seconds_ends_at_once) {
  const Place place;
  Started run(place, kLong + "--shape-compute 60s");
  ASSERT_TRUE(run.waits_for([&] { return !place.read("run/metrics.jsonl").empty(); })) << run.says();
  run.signal(SIGTERM);
  std::this_thread::sleep_for(2100ms);
  run.signal(SIGTERM);
  EXPECT_EQ(run.code(), 128 + SIGTERM) << run.says();
}

TEST(Leaving, without_checkpoints_is_no_more_than_ending) {
  const Place place;
  Started run(place, quick("--epochs 100000 --evaluate-every 1000 --run-dir run --checkpoint off"));
  ASSERT_TRUE(run.trains()) << run.says();
  run.signal(SIGINT);
  EXPECT_EQ(run.code(), 128 + SIGINT) << run.says();
}

// Background jobs of scripts, and nohup, start programs with these signals ignored.
TEST(Leaving, is_not_asked_for_by_signals_that_were_ignored_from_the_start) {
  const Place place;
  Started run(place, kLong, SIG_IGN);
  ASSERT_TRUE(run.trains()) << run.says();
  run.signal(SIGINT);
  run.signal(SIGHUP);
  std::this_thread::sleep_for(200ms);
  ASSERT_EQ(waitpid(run.process(), nullptr, WNOHANG), 0) << run.says();
  run.signal(SIGTERM);
  EXPECT_EQ(run.code(), 75) << run.says();
}

// Returns whether the process blocks SIGUSR1. Until the kernel and the dynamic loader have started the program, SIGUSR1
// ends it, as it ends any program.
bool holds_sigusr1(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) return (std::stoull(line.substr(7), nullptr, 16) >> (SIGUSR1 - 1)) & 1;
  }
  return false;
}

TEST(Sigusr1, waits_from_the_first_moment_of_the_program_until_the_run_can_leave) {
  for (int trial = 0; trial < 3; ++trial) {
    const Place place;
    Started run(place, kLong + "--transport threads --ranks 2");
    while (!holds_sigusr1(run.process()) && waitpid(run.process(), nullptr, WNOHANG) == 0) {
    }
    run.signal(SIGUSR1);
    EXPECT_EQ(run.code(), 75) << run.says();
  }
}

TEST(Sigusr1, ends_what_does_not_leave_on_request) {
  const Place place;
  Started run(place, "watch nowhere");
  std::this_thread::sleep_for(300ms);
  run.signal(SIGUSR1);
  EXPECT_EQ(run.code(), 128 + SIGUSR1) << run.says();
}

}  // namespace
}  // namespace eave
