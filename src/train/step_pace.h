// A larger model's time of computing, for experiments.
#pragma once

#include <chrono>
#include <cstddef>

namespace eave {

// Gradients that take at least so long, by sleeping: a third of it for the forward pass, and backward as many values
// per second all along, so that what is exchanged behind it has the same room as with a model that does compute so
// long.
class StepPace {
 public:
  // 0 seconds: never sleeps. `values`: of all gradients.
  StepPace(double seconds, std::size_t values) : seconds_(seconds), values_(static_cast<double>(values)) {}

  void begin();                    // of a step's forward pass
  void ready(std::size_t values);  // so many gradients more are known
  void end();                      // all are

 private:
  void reach(double share) const;

  const double seconds_, values_;
  double done_ = 0;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace eave
