// Simulators and workers share the losses in problem.h. Their gradients must be the derivatives of the losses.
#include "problem.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

TEST(WorkerLoss, has_the_gradient_of_its_differences) {
  for (const bool network : {false, true}) {
    const Problem problem{.network = network};
    const WorkerLoss loss(problem, 2);
    const std::vector<float> start = problem.start();
    Doubles x(start.begin(), start.end());
    const Doubles gradient = loss.gradient(x);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double at = x[k], step = 1e-5;
      x[k] = at + step;
      const double above = loss(x);
      x[k] = at - step;
      EXPECT_NEAR((above - loss(x)) / (2 * step), gradient[k], 1e-8) << k;
      x[k] = at;
    }
  }
}

}  // namespace
}  // namespace eave
