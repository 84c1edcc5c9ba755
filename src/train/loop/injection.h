// Faults made on purpose (--inject-fault), injected where real ones arise.
#pragma once

#include <cstdint>
#include <functional>

#include "eave/trainer.h"

namespace eave {

class Injection {
 public:
  // All arguments outlive this object.
  Injection(const InjectedFault& fault, Replica& replica, Communicator& communicator)
      : fault_(fault), replica_(replica), communicator_(communicator) {}

  // Runs `train`, which is the forward and backward pass of a step. kNanLoss: one parameter is NaN meanwhile, so the
  // loss is NaN.
  void around(std::int64_t step, const std::function<void()>& train);
  // kNanGradient, kInfGradient: call when the gradients in `part` are computed and not yet sent.
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
