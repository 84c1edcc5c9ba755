// Back-off: how long to sleep between two checks for something that another rank has yet to do.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

namespace eave {

// Sleeps 1/8 of the time waited so far, within 20 us … 0.5 ms. If 1/256 of that time is longer, sleeps that, at most 8
// ms. So an event that comes after time t is seen at most t/8 late. A long wait costs little processor time: each check
// takes some 10 us, or more if other threads use the caches. That is 2 % of a core after 4 ms of waiting and 0.1 %
// after two seconds.
//
// A caller calls reset() before it begins to wait, and event() when some of many events have come. After an event,
// sleeps begin at a quarter of the usual time between events (at most 0.5 ms): on a slow link messages take longer than
// 20 us, and checks in between find nothing. The link stays busy meanwhile, because several messages are under way.
//
// A caller that knows how many events a slow link is bringing passes their number to delay(). Sleeps then begin at a
// quarter of the time in which all of them come, at most 2 ms. They get short when few events are left.
class Backoff {
 public:
  void reset() {
    since_ = std::chrono::steady_clock::now();
    between_events_ = {};
  }
  void event(std::int64_t count = 1) {  // `count` events, at least 1, have come since the last call
    using namespace std::chrono_literals;
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::nanoseconds waited = (now - since_) / count, most = 2 * between_events_ + 20us;
    // Grows slowly, because one long wait, as for a slow rank, says nothing about the link.
    between_events_ =
        waited < between_events_ ? between_events_ - (between_events_ - waited) / 4 : std::min(waited, most);
    since_ = now;
  }
  // How long to sleep after an event at least.
  std::chrono::nanoseconds pace(std::int64_t under_way) const {
    using namespace std::chrono_literals;
    return std::min<std::chrono::nanoseconds>(
        std::min<std::chrono::nanoseconds>(between_events_ / 4, 500us) * under_way, 2ms);
  }
  std::chrono::nanoseconds delay(std::int64_t under_way = 1) const {  // how long to sleep now
    using namespace std::chrono_literals;
    const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - since_;
    return std::max({std::clamp<std::chrono::nanoseconds>(waited / 8, 20us, 500us), pace(under_way),
                     std::min<std::chrono::nanoseconds>(waited / 256, 8ms)});
  }
  void sleep() const { std::this_thread::sleep_for(delay()); }

 private:
  std::chrono::nanoseconds between_events_{};  // smoothed
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// Returns whether this thread has the mutex now. std::timed_mutex could wait by itself, but ThreadSanitizer of GCC 12
// does not see pthread_mutex_clocklock, and reports the unlock.
inline bool try_lock_within(std::mutex& mutex, std::chrono::nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (const Backoff backoff; !mutex.try_lock(); backoff.sleep())
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

}  // namespace eave
