// The outer optimizer that moves a center. Its gradient is how far the workers have moved since the last exchange. All
// outer methods use this one class with different numbers.
#pragma once

#include "eave/device.h"
#include "eave/slice.h"

namespace eave {

// G = (where the workers began) - (their mean). It points against their movement, as a gradient does.
//   v <- momentum v + scale G;   c <- c - velocity_rate v - gradient_rate G, with the new v
struct OuterStep {
  double momentum = 0;
  double scale = 1;
  double velocity_rate = 1;
  double gradient_rate = 0;
};

// The center c and its velocity v. Workers begin at c - ahead v, so with ahead > 0 they look ahead of c. Same inputs
// give the same bits. If momentum · velocity_rate = ahead and scale · velocity_rate + gradient_rate = 1, a step sets c
// to the workers' mean, bit by bit.
class OuterOptimizer {
 public:
  explicit OuterOptimizer(double ahead) : ahead_(ahead) {}

  // Sets c = parameters and v = 0. Allocates memory on `device`, which holds the parameters.
  void begin(Device& device, ConstSlice parameters);
  // Takes the workers' mean in `mean` and replaces it by the point where they begin next. One pass.
  void step(Slice mean, const OuterStep& step);
  // Writes c - ahead v, the point where workers begin.
  void write_beginning(Slice into, double ahead) const;
  Slice center() { return center_.slice(); }
  Slice velocity() { return velocity_.slice(); }

 private:
  double ahead_;
  Device* device_ = nullptr;
  Buffer center_, velocity_;
};

// The limit of the factor of G below which the center converges, if workers reach their minimum between two exchanges.
// If they only cover a share k of the way there, factor · k must be below the limit. Momentum must be in [0, 1).
//   heavy ball  c_next = c - factor G(c) + momentum (c - c_before):  2 (1 + momentum)
//   Nesterov, with G of the point c + momentum (c - c_before):       2 (1 + momentum) / (1 + 2 momentum)
// On a quadratic of curvature h, k = 1 - (1 - lr h)^tau after tau steps without worker momentum, at most 1 for lr h in
// [0, 1]. (Jury's conditions on z² - (1 + m - f k) z + m and z² - (1 + m)(1 - f k) z + m (1 - f k): z = -1 binds.)
double stable_factor_limit(double momentum, bool nesterov);

}  // namespace eave
