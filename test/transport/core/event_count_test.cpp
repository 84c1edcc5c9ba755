#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "transport/core/shared_memory.h"

namespace eave {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Two event counts in two mappings of the same memory, as two processes would have them.
class EventCounts : public testing::Test {
 protected:
  EventCount& of(SharedMemory& memory) { return *reinterpret_cast<EventCount*>(memory.bytes().data()); }

  const std::unique_ptr<SharedMemory> made_ = SharedMemory::create(sizeof(EventCount)),
                                      opened_ = SharedMemory::open(made_->address(), sizeof(EventCount));
  EventCount &notifier_ = of(*made_), &waiter_ = of(*opened_);
};

TEST_F(EventCounts, wakes_who_waiter_long_before_its_time) {
  std::atomic<bool> is_awake = false;
  const auto start = Clock::now();
  std::thread waiting([&, seen = waiter_.count()] {
    waiter_.wait(seen, 30s);
    is_awake = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(is_awake);
  notifier_.notify_all();
  waiting.join();
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_F(EventCounts, misses_no_event_before_it_sleeps) {
  const std::uint32_t seen = waiter_.count();
  notifier_.notify_all();
  const auto start = Clock::now();
  waiter_.wait(seen, 30s);
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_F(EventCounts, lets_go_when_the_time_is_up) {
  const auto start = Clock::now();
  waiter_.wait(waiter_.count(), 50ms);
  EXPECT_GE(Clock::now() - start, 40ms);
}

// Two threads notify in turn. If an event were lost, its waiter would sleep for half a minute.
TEST_F(EventCounts, loses_no_event_among_many) {
  constexpr int kRounds = 20000;
  std::atomic<int> turn = 0;
  const auto start = Clock::now();
  const auto play = [&](EventCount& events, int player) {
    for (int round = player; round < kRounds; round += 2) {
      for (;;) {
        const std::uint32_t seen = events.count();
        if (turn.load() == round) break;
        events.wait(seen, 30s);
      }
      turn.store(round + 1);
      events.notify_all();
    }
  };
  std::thread other([&] { play(waiter_, 1); });
  play(notifier_, 0);
  other.join();
  EXPECT_EQ(turn, kRounds);
  EXPECT_LT(Clock::now() - start, 25s);
}

}  // namespace
}  // namespace eave
