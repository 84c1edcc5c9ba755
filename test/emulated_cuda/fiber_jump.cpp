// Fibers that switch by longjmp. swapcontext makes a system call for the signal mask, which is most of its cost, so
// only the first switch to a fiber uses it. Fortified longjmp refuses to jump down into another stack, so it is turned
// off.
#undef _FORTIFY_SOURCE
#include <setjmp.h>
#include <ucontext.h>

#include "fiber.h"

namespace eave::emulated_cuda {

struct Fiber::Stack {
  ucontext_t context = {}, caller_context = {};
  jmp_buf inside, caller;
  bool begun = false;
  std::unique_ptr<char[]> bytes;
};

namespace {
Fiber* running = nullptr;
}

Fiber::Fiber(void (*body)()) : stack_(std::make_unique<Stack>()), body_(body) {
  stack_->bytes = std::make_unique_for_overwrite<char[]>(kFiberStackBytes);
  getcontext(&stack_->context);
  stack_->context.uc_stack.ss_sp = stack_->bytes.get();
  stack_->context.uc_stack.ss_size = kFiberStackBytes;
  makecontext(&stack_->context, &Fiber::enter, 0);
}
Fiber::~Fiber() = default;

void Fiber::enter() {
  for (;;) running->body_();
}

void Fiber::resume() {
  running = this;
  if (_setjmp(stack_->caller) != 0) return;
  if (stack_->begun) _longjmp(stack_->inside, 1);
  stack_->begun = true;
  swapcontext(&stack_->caller_context, &stack_->context);
}

void Fiber::suspend() {
  Stack& stack = *running->stack_;
  if (_setjmp(stack.inside) == 0) _longjmp(stack.caller, 1);
}

}  // namespace eave::emulated_cuda
