// A stack of its own that runs `body` again and again, up to where it suspends itself. Two files implement it: one that
// switches without a system call, and one that sanitizers understand.
#pragma once

#include <memory>

namespace eave::emulated_cuda {

class Fiber {
 public:
  explicit Fiber(void (*body)());
  ~Fiber();
  void resume();          // from outside; returns where the fiber suspends itself
  static void suspend();  // from inside

 private:
  struct Stack;
  static void enter();
  std::unique_ptr<Stack> stack_;
  void (*body_)();
};

inline constexpr std::size_t kFiberStackBytes = 128 << 10;

}  // namespace eave::emulated_cuda
