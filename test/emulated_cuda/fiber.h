// A fiber: a separate stack on which `body` runs again and again, until it suspends itself. Two files implement it. One
// switches without a system call; sanitizers understand the other.
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
