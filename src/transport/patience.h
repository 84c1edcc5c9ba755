// How long to sleep between two looks at something that another rank has yet to do.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace eave {

// Sleeps an eighth of the time waited so far, at most 0.5 ms; when that is less than a 256th of it, that, at most 8 ms.
// So what is late by t is seen at most t/8 late, and a long wait costs little processor time: each look takes some
// 10 us, which is 2 % of a core after 4 ms of waiting and 0.1 % after two seconds; more where others use the caches.
// Messages arrive close together, so renew() (something came) starts with short sleeps again.
class Patience {
 public:
  void renew() { since_ = std::chrono::steady_clock::now(); }
  std::chrono::nanoseconds pause() const {  // how long to sleep now
    using namespace std::chrono_literals;
    const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - since_;
    const auto at_first = std::clamp<std::chrono::nanoseconds>(waited / 8, 20us, 500us);
    return std::max(at_first, std::min<std::chrono::nanoseconds>(waited / 256, 8ms));
  }
  void sleep() const { std::this_thread::sleep_for(pause()); }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace eave
