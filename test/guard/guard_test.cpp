// Guards that watch the call records of communication threads. Ranks are threads.
#include "guard/guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "eave/check.h"
#include "guard/leave.h"
#include "guard/watchdog.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

struct Told {
  std::mutex mutex;
  std::vector<std::string> said;
  std::vector<int> left;
};

WatchdogSettings settings_for(Told& told, double limit) {
  WatchdogSettings settings;
  settings.limits = {{limit, "limit"}, {limit, "limit"}, {limit, "limit"}};
  settings.hosts = {"a", "b", "c"};
  settings.say = [&told](const std::string& line) {
    const std::lock_guard lock(told.mutex);
    told.said.push_back(line);
  };
  settings.leave = [&told](ExitCode code) {
    const std::lock_guard lock(told.mutex);
    told.left.push_back(static_cast<int>(code));
  };
  return settings;
}

TEST(GuardOfThreads, finds_nothing_wrong_with_ranks_that_sum) {
  Told told;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    RankProgress rank_progress;
    Watchdog watchdog(*transport.control(), *transport.calls(), rank_progress, transport.rank(),
                      settings_for(told, 20));
    const Guard guard(transport.control(), {&watchdog}, std::chrono::milliseconds(1));
    std::vector<float> values(10000);
    for (int step = 0; step < 300; ++step) {
      rank_progress.enter(Section::kStep, step);
      transport.all_reduce_sum(values).wait();
    }
  });
  EXPECT_TRUE(told.said.empty());
}

TEST(GuardOfThreads, names_one_that_sleeps_and_then_ends) {
  Told told;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    RankProgress rank_progress;
    Watchdog watchdog(*transport.control(), *transport.calls(), rank_progress, transport.rank(),
                      settings_for(told, 0.5));
    const Guard guard(transport.control(), {&watchdog}, std::chrono::milliseconds(5));
    rank_progress.enter(Section::kStep, 5);
    std::vector<float> values(100);
    transport.all_reduce_sum(values).wait();
    const auto has_left = [&] {
      const std::lock_guard lock(told.mutex);
      return !told.left.empty();
    };
    if (transport.rank() == 1)
      for (int k = 0; k < 2000 && !has_left(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    transport.all_reduce_sum(values).wait();
  });
  ASSERT_GE(told.said.size(), 2U);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "eave: warning: rank 1 on b is still computing step 5, for 0.",
                      told.said[0]);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "eave: rank 1 on b is still computing step 5, for 0.", told.said[1]);
  EXPECT_EQ(std::ranges::count(told.left, 69), std::ssize(told.left));
}

// Rank 0 is asked to leave and waits for rank 1's answer, but rank 1 fails and never answers.
TEST(GuardOfThreads, keeps_nobody_at_a_gate_whose_peer_has_failed) {
  std::atomic<bool> asked{true};
  double waited = 100;
  const auto run = [&](Transport& transport) {
    if (transport.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      throw Error(ExitCode::kBadData, "made on purpose");
    }
    LeaveTask leave(transport.control(), 0, 2, &asked, 20);
    const Guard guard(transport.control(), {&leave}, std::chrono::milliseconds(1));
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t step = 0; leave.gate().may_begin(step); ++step)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    transport.all_gather("");
  };
  EXPECT_EQ(run_job({"threads", 2}, run).code, 65);
  EXPECT_LT(waited, 10);
}

TEST(GuardOfThreads, lets_all_leave_where_one_wants_to) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    LeaveTask leave(transport.control(), transport.rank(), transport.size(), nullptr, 20);
    const Guard guard(transport.control(), {&leave}, std::chrono::milliseconds(1));
    std::int64_t step = 0;
    for (; leave.gate().may_begin(step); ++step) {
      if (transport.rank() == 2 && step == 5) leave.gate().want();
      std::this_thread::sleep_for(std::chrono::microseconds(100 * (1 + transport.rank())));
    }
    EXPECT_GE(step, 6);
    for (const std::string& each : transport.all_gather(std::to_string(step))) EXPECT_EQ(each, std::to_string(step));
  });
}

TEST(GuardOfThreads, says_once_that_nobody_leaves) {
  std::atomic<bool> asked{true};
  std::atomic<int> said{0};
  on_ranks({"threads", 3}, [&](Transport& transport) {
    LeaveNotice refusal(transport.control(), transport.rank(), asked, [&] { ++said; });
    const Guard guard(transport.control(), {&refusal}, std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    transport.all_gather("");
  });
  EXPECT_EQ(said, 1);
}

}  // namespace
}  // namespace eave
