// Faults made on purpose (--inject-fault), where they arise in life.
#pragma once

#include <cstdint>
#include <functional>

#include "eave/trainer.h"

namespace eave {

class Injection {
 public:
  // All outlive it.
  Injection(const InjectedFault& fault, Replica& replica, Communicator& communicator)
      : fault_(fault), replica_(replica), communicator_(communicator) {}

  // Around forward and backward of a step, which `train` does: a parameter that is no number there makes the loss so.
  void around(std::int64_t step, const std::function<void()>& train);
  // These gradients are computed, and not sent yet.
  void in_gradients(std::int64_t step, Slice part);
  void after_step(std::int64_t step);

 private:
  bool is_due(std::int64_t step, InjectedFault::Kind kind) const { return fault_.kind == kind && fault_.step == step; }
  Slice element_of(Slice values) const;

  const InjectedFault fault_;
  Replica& replica_;
  Communicator& communicator_;
};

}  // namespace eave
