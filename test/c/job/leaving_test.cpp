// Tests after which step the ranks of an own training loop leave, and which signals ask for it.
#include "c/leaving.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "eave/check.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

// The gates of two ranks. Their messages arrive when deliver() is called.
class Gates {
 public:
  Gates() {
    for (int rank = 0; rank < 2; ++rank)
      gates.push_back(std::make_unique<LeaveGate>(
          rank, 2,
          [this, rank](int to, const LeaveMessage& message) {
            posted_.push_back({{rank, to}, message});
          },
          5));
    for (auto& gate : gates) steps.push_back(std::make_unique<StepsUntilLeaving>(*gate));
  }

  void deliver() {
    while (!posted_.empty()) {
      const auto [way, message] = posted_.front();
      posted_.erase(posted_.begin());
      gates[static_cast<std::size_t>(way.second)]->receive(way.first, message);
    }
  }

  std::vector<std::unique_ptr<LeaveGate>> gates;
  std::vector<std::unique_ptr<StepsUntilLeaving>> steps;

 private:
  std::vector<std::pair<std::pair<int, int>, LeaveMessage>> posted_;
};

// Returns how many more steps the rank takes before it leaves.
int steps_to_go(StepsUntilLeaving& steps, bool together = true) {
  for (int taken = 1;; ++taken) {
    steps.after_step(together);
    if (steps.is_leaving()) return taken;
  }
}

TEST(StepsUntilLeaving, are_those_of_the_rank_that_is_furthest) {
  Gates ranks;
  for (int step = 0; step < 5; ++step) ranks.steps[0]->after_step(true);
  for (int step = 0; step < 3; ++step) ranks.steps[1]->after_step(true);
  ranks.gates[1]->ask();
  ranks.deliver();
  EXPECT_EQ(steps_to_go(*ranks.steps[0]), 1);  // it may have begun its sixth step
  EXPECT_EQ(steps_to_go(*ranks.steps[1]), 3);
}

TEST(StepsUntilLeaving, are_one_if_no_step_has_ended) {
  Gates ranks;
  ranks.gates[0]->ask();
  ranks.deliver();
  EXPECT_EQ(steps_to_go(*ranks.steps[0]), 1);
  EXPECT_EQ(steps_to_go(*ranks.steps[1]), 1);
}

TEST(StepsUntilLeaving, are_each_ranks_own_if_it_waits_for_nobody) {
  Gates ranks;
  for (int step = 0; step < 5; ++step) ranks.steps[0]->after_step(false);
  EXPECT_FALSE(ranks.steps[0]->is_leaving());
  ranks.gates[1]->ask();
  ranks.deliver();
  EXPECT_EQ(steps_to_go(*ranks.steps[0], false), 1);
  EXPECT_EQ(steps_to_go(*ranks.steps[1], false), 1);
}

TEST(LeaveOn, leaves_signals_alone_that_the_program_handles) {
  const auto handler_of = [](int number) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    return action.sa_handler;
  };
  signal(SIGUSR2, SIG_IGN);
  leave_on(SIGUSR2);
  EXPECT_EQ(handler_of(SIGUSR2), SIG_IGN);
  EXPECT_THROW(leave_on(SIGKILL), Error);
  EXPECT_THROW(leave_on(12345), Error);
  leave_on(SIGUSR1);
  leave_on(SIGTERM);
  EXPECT_FALSE(asked_to_leave());
  raise(SIGTERM);
  EXPECT_TRUE(asked_to_leave());
  raise(SIGUSR1);
  EXPECT_NE(handler_of(SIGUSR1), SIG_DFL);
}

// A terminal that is closed sends SIGHUP twice within a millisecond, and launchers pass on SIGTERM twice.
TEST(LeaveOn, counts_a_signal_that_comes_twice_within_a_moment_as_one) {
  const auto hear_twice = [](int number, std::chrono::milliseconds pause) {
    signal(number, SIG_DFL);
    leave_on(number);
    raise(number);
    std::this_thread::sleep_for(pause);
    raise(number);
    _exit(asked_to_leave() ? 75 : 1);
  };
  for (const int number : {SIGHUP, SIGTERM, SIGINT})
    EXPECT_EXIT(hear_twice(number, 1ms), testing::ExitedWithCode(75), "") << number;
  EXPECT_EXIT(hear_twice(SIGHUP, 2100ms), testing::KilledBySignal(SIGHUP), "");
  EXPECT_EXIT(hear_twice(SIGINT, 400ms), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace eave
