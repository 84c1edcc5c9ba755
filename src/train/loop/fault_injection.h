// Disturbs a run on purpose, for experiments: injects faults (--inject-fault), and slows computing down
// (--shape-compute).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "eave/trainer.h"

namespace eave {

// Injects a fault where a real one would arise.
class FaultInjection {
 public:
  // All arguments outlive this object.
  FaultInjection(const InjectedFault& fault, Replica& replica, Communicator& communicator)
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

// Slows computing to the pace of a larger model. Makes the gradients of a step take at least `seconds`, by sleeping. A
// third of it is the forward pass. In the backward pass the gradients become ready at a constant rate. So exchanges
// have as much time behind it as with a model that really computes so long.
class StepPace {
 public:
  // If `seconds` is 0, it never sleeps. `values` is the number of all gradients.
  StepPace(double seconds, std::size_t values) : seconds_(seconds), values_(static_cast<double>(values)) {}

  void begin();                    // call when a step's forward pass begins
  void ready(std::size_t values);  // call when this many more gradients are ready
  void end();                      // call when all gradients are ready

 private:
  void reach(double share) const;

  const double seconds_, values_;
  double done_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace eave
