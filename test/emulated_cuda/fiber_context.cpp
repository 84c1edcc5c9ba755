// Fibers that switch by swapcontext, which sanitizers understand.
#include <ucontext.h>

#include "fiber.h"

namespace eave::emulated_cuda {

struct Fiber::Stack {
  ucontext_t context = {}, caller = {};
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
  swapcontext(&stack_->caller, &stack_->context);
}

void Fiber::suspend() { swapcontext(&running->stack_->context, &running->stack_->caller); }

}  // namespace eave::emulated_cuda
