// The optimizer of a center whose gradient is the way that the workers have gone since the last exchange: one piece
// for all outer methods, which differ in its numbers alone.
#pragma once

#include "eave/device.h"
#include "eave/slice.h"

namespace eave {

// With G = where the workers began - their mean, which points against the way they have gone, as a gradient does:
//   v <- momentum v + scale G;   c <- c - velocity_rate v - gradient_rate G, with the new v.
struct OuterStep {
  double momentum = 0;
  double scale = 1;
  double velocity_rate = 1;
  double gradient_rate = 0;
};

// The center c and its velocity v. Workers begin at c - ahead v; velocities of ahead > 0 look ahead of c. Same inputs,
// same bits. A step with momentum · velocity_rate = ahead and scale · velocity_rate + gradient_rate = 1 leaves c at the
// mean of the workers bit by bit.
class OuterOptimizer {
 public:
  explicit OuterOptimizer(double ahead) : ahead_(ahead) {}

  // c = parameters, v = 0. Memory is allocated here, on the device of the parameters.
  void begin(Device& device, ConstSlice parameters);
  // `mean` of the workers comes in, where they begin next goes out. One pass.
  void step(Slice mean, const OuterStep& step);
  // Where workers begin: c - ahead v.
  void write_beginning(Slice into, double ahead) const;
  Slice center() { return center_.slice(); }
  Slice velocity() { return velocity_.slice(); }

 private:
  double ahead_;
  Device* device_ = nullptr;
  Buffer center_, velocity_;
};

// The factor of G in the step below which the center settles, for workers that move to their minimum between two
// exchanges; where they move a share k of the way there, factor · k must be below it. Momentum in [0, 1).
//   heavy ball  c_next = c - factor G(c) + momentum (c - c_before):  2 (1 + momentum)
//   Nesterov, where G is that of the point c + momentum (c - c_before):  2 (1 + momentum) / (1 + 2 momentum)
// On a quadratic of curvature h, k = 1 - (1 - lr h)^tau after tau steps without worker momentum: at most 1 for lr h in
// [0, 1]. (Jury's conditions on z² - (1 + m - f k) z + m and z² - (1 + m)(1 - f k) z + m (1 - f k): z = -1 binds.)
double stable_factor_limit(double momentum, bool nesterov);

}  // namespace eave
