// How long to sleep between two looks at something that another rank has yet to do.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace eave {

// Sleeps an eighth of the time waited so far: what is late by t is seen at most t/8 late, and a long wait costs next to
// no processor time. Messages arrive close together, so renew() (something came) starts with short sleeps again.
class Patience {
 public:
  void renew() { since_ = std::chrono::steady_clock::now(); }
  void sleep() const {
    using namespace std::chrono_literals;
    const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - since_;
    std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(waited / 8, 20us, 500us));
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace eave
