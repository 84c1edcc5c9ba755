#include "transport/core/bell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "transport/threads/shared_memory.h"

namespace eave {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Two bells in two mappings of the same memory, as two processes would have them.
class Bells : public testing::Test {
 protected:
  Bell& of(SharedMemory& memory) { return *reinterpret_cast<Bell*>(memory.bytes().data()); }

  const std::unique_ptr<SharedMemory> made_ = SharedMemory::create(sizeof(Bell)),
                                      opened_ = SharedMemory::open(made_->address(), sizeof(Bell));
  Bell &rings_ = of(*made_), &hears_ = of(*opened_);
};

TEST_F(Bells, wakes_who_waits_long_before_its_time) {
  std::atomic<bool> is_awake = false;
  const auto start = Clock::now();
  std::thread waiting([&, rings = hears_.rings()] {
    hears_.wait(rings, 30s);
    is_awake = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(is_awake);
  rings_.ring();
  waiting.join();
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_F(Bells, misses_nothing_that_was_rung_before_it_sleeps) {
  const std::uint32_t rings = hears_.rings();
  rings_.ring();
  const auto start = Clock::now();
  hears_.wait(rings, 30s);
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_F(Bells, lets_go_when_the_time_is_up) {
  const auto start = Clock::now();
  hears_.wait(hears_.rings(), 50ms);
  EXPECT_GE(Clock::now() - start, 40ms);
}

// Two threads ring in turn. If a ring were lost, its waiter would sleep for half a minute.
TEST_F(Bells, loses_no_ring_among_many) {
  constexpr int kRounds = 20000;
  std::atomic<int> turn = 0;
  const auto start = Clock::now();
  const auto play = [&](Bell& bell, int player) {
    for (int round = player; round < kRounds; round += 2) {
      for (;;) {
        const std::uint32_t rings = bell.rings();
        if (turn.load() == round) break;
        bell.wait(rings, 30s);
      }
      turn.store(round + 1);
      bell.ring();
    }
  };
  std::thread other([&] { play(hears_, 1); });
  play(rings_, 0);
  other.join();
  EXPECT_EQ(turn, kRounds);
  EXPECT_LT(Clock::now() - start, 25s);
}

}  // namespace
}  // namespace eave
