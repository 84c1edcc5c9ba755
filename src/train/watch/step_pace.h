// Slows computing down to the pace of a larger model, for experiments (--shape-compute).
#pragma once

#include <chrono>
#include <cstddef>

namespace eave {

// Makes the gradients of a step take at least `seconds`, by sleeping. A third of it is the forward pass. In the
// backward pass the gradients become ready at a constant rate. So exchanges have as much time behind it as with a model
// that really computes so long.
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
