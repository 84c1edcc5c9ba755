// Tests how long Backoff sleeps between two checks.
#include "transport/core/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace eave {
namespace {

using namespace std::chrono_literals;

// Lets `count` events come, `apart` from one another.
void let_come(Backoff& backoff, int count, std::chrono::microseconds apart) {
  for (int each = 0; each < count; ++each) {
    std::this_thread::sleep_for(apart);
    backoff.event();
  }
}

// The shortest sleep after `before`, of many tries: the machine may stop this thread for a while.
template <class Before>
std::chrono::nanoseconds shortest_delay(const Before& before) {
  std::chrono::nanoseconds shortest = 1s;
  for (int each = 0; each < 5; ++each) {
    Backoff backoff;
    before(backoff);
    shortest = std::min(shortest, backoff.delay());
  }
  return shortest;
}

TEST(Backoff, begins_with_short_sleeps) {
  EXPECT_EQ(shortest_delay([](Backoff&) {}), 20us);
}

// A quarter of the time between events, and at most 0.5 ms.
TEST(Backoff, sleeps_longer_after_events_that_come_slowly) {
  Backoff backoff;
  let_come(backoff, 30, 1ms);
  EXPECT_GE(backoff.delay(), 200us);
  EXPECT_LE(backoff.delay(), 500us);
}

TEST(Backoff, forgets_the_events_when_a_new_wait_begins) {
  const auto delay = shortest_delay([](Backoff& backoff) {
    let_come(backoff, 30, 1ms);
    backoff.reset();
  });
  EXPECT_EQ(delay, 20us);
}

TEST(Backoff, takes_one_long_wait_for_no_slow_link) {
  EXPECT_EQ(shortest_delay([](Backoff& backoff) { let_come(backoff, 1, 50ms); }), 20us);
}

// As a message that has come and one that has left by it.
TEST(Backoff, takes_two_events_at_once_for_no_fast_link) {
  Backoff backoff;
  for (int each = 0; each < 15; ++each) {
    let_come(backoff, 1, 1ms);
    backoff.event();
  }
  EXPECT_GE(backoff.delay(), 100us);
}

TEST(Backoff, sleeps_longer_while_many_events_are_under_way) {
  Backoff backoff;
  let_come(backoff, 30, 1ms);
  EXPECT_GE(backoff.delay(4), 800us);
  EXPECT_EQ(backoff.delay(100), 2ms);
}

TEST(Backoff, shares_the_time_among_events_that_come_together) {
  const auto delay = shortest_delay([](Backoff& backoff) {
    for (int each = 0; each < 30; ++each) {
      std::this_thread::sleep_for(1ms);
      backoff.event(10);
    }
  });
  EXPECT_LE(delay, 100us);
}

TEST(Backoff, forgets_a_slow_link_soon_if_events_come_fast) {
  const auto delay = shortest_delay([](Backoff& backoff) {
    let_come(backoff, 10, 1ms);
    for (int each = 0; each < 20; ++each) backoff.event();
  });
  EXPECT_EQ(delay, 20us);
}

}  // namespace
}  // namespace eave
