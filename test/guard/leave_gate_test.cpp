// LeaveGate: all ranks leave after the same step. Steps take random times, ranks meet now and then, and messages are
// delayed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "eave/check.h"
#include "guard/leave.h"
#include "test/expectations.h"

namespace eave {
namespace {

struct Mail {
  int from;
  LeaveMessage message;
};

// The connections between ranks: a mailbox for each rank, and meetings that wait for all ranks.
class Job {
 public:
  explicit Job(int ranks) : mail_(static_cast<std::size_t>(ranks)), arrived_(static_cast<std::size_t>(ranks), 0) {}

  void post(int from, int to, const LeaveMessage& message) {
    const std::lock_guard lock(mutex_);
    mail_[static_cast<std::size_t>(to)].push_back({from, message});
  }
  bool take(int rank, Mail& mail) {
    const std::lock_guard lock(mutex_);
    auto& box = mail_[static_cast<std::size_t>(rank)];
    if (box.empty()) return false;
    mail = box.front();
    box.pop_front();
    return true;
  }
  // Returns when all ranks have called meet() as often as this one.
  void meet(int rank) {
    const int mine = arrive(rank);
    while (std::ranges::any_of(copy(), [&](int each) { return each < mine; })) std::this_thread::yield();
  }

 private:
  int arrive(int rank) {
    const std::lock_guard lock(mutex_);
    return ++arrived_[static_cast<std::size_t>(rank)];
  }
  std::vector<int> copy() {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }
  std::mutex mutex_;
  std::vector<std::deque<Mail>> mail_;
  std::vector<int> arrived_;
};

// Runs a job until its ranks leave, and returns how many steps each rank has done. The ranks in `askers` are asked to
// leave at random times within 5 ms.
std::vector<std::int64_t> run_until_asked(int ranks, int steps_between_meetings, const std::set<int>& askers,
                                          unsigned seed) {
  Job job(ranks);
  std::vector<std::unique_ptr<LeaveGate>> gates;
  for (int rank = 0; rank < ranks; ++rank) {
    gates.push_back(std::make_unique<LeaveGate>(
        rank, ranks, [&job, rank](int to, const LeaveMessage& message) { job.post(rank, to, message); }));
  }
  std::vector<std::int64_t> done(static_cast<std::size_t>(ranks), 0);
  std::atomic<int> running{ranks};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      std::mt19937 random(seed + static_cast<unsigned>(rank));
      std::int64_t& step = done[static_cast<std::size_t>(rank)];
      while (gates[static_cast<std::size_t>(rank)]->may_begin(step)) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
        if (++step % steps_between_meetings == 0) job.meet(rank);
      }
      --running;
    });
    threads.emplace_back([&, rank] {
      std::mt19937 random(seed + 100 + static_cast<unsigned>(rank));
      LeaveGate& gate = *gates[static_cast<std::size_t>(rank)];
      const auto moment = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 5000);
      while (running > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        if (askers.contains(rank) && std::chrono::steady_clock::now() > moment) gate.ask();
        Mail mail{};
        if (job.take(rank, mail)) gate.receive(mail.from, mail.message);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return done;
}

// Rank 2 only keeps the center: none of its steps waits for a worker.
class FollowingGate {
 public:
  FollowingGate() { gate.pace(2, progress); }
  // Begins this step in another thread.
  std::future<bool> begin(std::int64_t step) {
    return std::async(std::launch::async, [this, step] { return gate.may_begin(step); });
  }
  static bool waits(const std::future<bool>& beginning) {
    return beginning.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout;
  }

  std::vector<LeaveMessage> posted;
  RankProgress progress;
  LeaveGate gate{2, 3, [this](int, const LeaveMessage& message) { posted.push_back(message); }, 20};
};

TEST(LeaveGate, lets_a_rank_that_keeps_the_center_follow_rank_0) {
  using Kind = LeaveMessage::Kind;
  FollowingGate rank;
  EXPECT_TRUE(rank.gate.may_begin(0));
  std::future<bool> begins = rank.begin(1);
  EXPECT_TRUE(FollowingGate::waits(begins));
  EXPECT_EQ(rank.progress.wait(), 1);
  rank.gate.receive(0, {Kind::kMayBeginBefore, 3});
  EXPECT_TRUE(begins.get());
  EXPECT_EQ(rank.progress.wait(), 0);
  EXPECT_TRUE(rank.gate.may_begin(2));
  begins = rank.begin(3);
  EXPECT_TRUE(FollowingGate::waits(begins));
  rank.gate.receive(1, {Kind::kAsked});
  ASSERT_EQ(rank.posted.size(), 1U);
  EXPECT_EQ(rank.posted[0].step, 3);
  EXPECT_TRUE(FollowingGate::waits(begins));
  rank.gate.receive(0, {Kind::kLeaveBefore, 5});
  EXPECT_TRUE(begins.get());
  EXPECT_TRUE(rank.gate.may_begin(4));
  EXPECT_FALSE(rank.gate.may_begin(5));
}

TEST(LeaveGate, tells_a_rank_that_follows_of_the_steps_of_the_next_half_second) {
  std::vector<LeaveMessage> posted;
  RankProgress progress;
  LeaveGate gate(0, 3, [&](int to, const LeaveMessage& message) {
    EXPECT_EQ(to, 2);
    posted.push_back(message);
  });
  gate.pace(2, progress);
  std::int64_t step = 1000;  // a run that resumes
  EXPECT_TRUE(gate.may_begin(step++));
  gate.tell_pace(0.05);
  ASSERT_EQ(posted.size(), 1U);
  EXPECT_EQ(posted[0].step, 1001);
  gate.tell_pace(0.05);
  EXPECT_EQ(posted.size(), 1U) << "it has heard so";
  for (int tick = 0; tick < 40; ++tick) {
    for (int k = 0; k < 5; ++k) EXPECT_TRUE(gate.may_begin(step++));
    gate.tell_pace(0.05);
  }
  EXPECT_NEAR(static_cast<double>(posted.back().step - step), 50, 3);
  for (int slow = 0; slow < 60; ++slow) {
    for (int tick = 0; tick < 40; ++tick) gate.tell_pace(0.05);
    EXPECT_TRUE(gate.may_begin(step++));
    gate.tell_pace(0.05);
  }
  EXPECT_LE(posted.back().step, step + 1);
}

TEST(LeaveGate, lets_all_ranks_leave_after_the_same_step) {
  const std::vector<std::set<int>> askers = {{0}, {2}, {0, 1, 2}, {1, 2}};
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<std::int64_t> done =
        run_until_asked(3, 1 + static_cast<int>(seed % 7), askers[seed % askers.size()], seed);
    EXPECT_EQ(std::set(done.begin(), done.end()).size(), 1u) << "seed " << seed;
    EXPECT_LT(done[0], 10000);
  }
}

TEST(LeaveGate, of_one_rank_closes_behind_the_step_that_it_is_in) {
  LeaveGate gate(0, 1, [](int, const LeaveMessage&) { FAIL() << "there is nobody to tell"; });
  EXPECT_TRUE(gate.may_begin(5));
  EXPECT_TRUE(gate.may_begin(6));
  gate.ask();
  gate.ask();
  EXPECT_FALSE(gate.may_begin(7));
}

TEST(LeaveGate, opens_up_to_the_furthest) {
  std::vector<LeaveMessage> told;
  LeaveGate gate(0, 3, [&](int to, const LeaveMessage& message) {
    if (to == 1) told.push_back(message);
  });
  EXPECT_TRUE(gate.may_begin(0));
  gate.receive(1, {LeaveMessage::Kind::kAsked});
  gate.receive(1, {LeaveMessage::Kind::kClosedBefore, 4});
  gate.receive(2, {LeaveMessage::Kind::kClosedBefore, 3});
  for (std::int64_t step = 1; step < 4; ++step) EXPECT_TRUE(gate.may_begin(step));
  EXPECT_FALSE(gate.may_begin(4));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].step, 4);
}

TEST(LeaveGate, keeps_nobody_waiting_who_gives_up) {
  LeaveGate gate(1, 2, [](int, const LeaveMessage&) {});
  EXPECT_TRUE(gate.may_begin(0));
  gate.ask();
  std::thread failing([&] { gate.give_up(); });
  EXPECT_FALSE(gate.may_begin(1));
  failing.join();
}

TEST(LeaveGate, waits_no_longer_than_its_limit) {
  LeaveGate gate(
      0, 3, [](int, const LeaveMessage&) {}, 0.05);
  EXPECT_TRUE(gate.may_begin(0));
  gate.ask();
  gate.receive(1, {LeaveMessage::Kind::kClosedBefore, 1});
  expect_error(ExitCode::kPeerLost, "rank 2 has not answered", [&] { gate.may_begin(1); });
}

}  // namespace
}  // namespace eave
