// ASGD, averaged stochastic gradient descent, on one rank (Polyak, Juditsky 1992). Zhang, Choromanska, LeCun 2015,
// section 5, use it as a sequential baseline.
//
//   x <- x - step;   after step t = 1, 2 ...:  z <- (1 - a) z + a x,  a = 1/(t + 1)
//
// So z is the mean of x_0 ... x_t, and it is the consensus. The step may come from any optimizer; the paper has plain
// SGD. The rank keeps z beside x, and beside z its float32 rounding errors (move_average).
//
// The rank exchanges nothing. A run is deterministic.
//
// The paper's other sequential baselines:
// - SGD is `allreduce` or `none` on one rank with --momentum 0.
// - MSGD is the same with --nesterov.
// - MVASGD is mvasgd.cpp.
#include "communicator/support/moving_average.h"

namespace eave {

CommunicatorKind describe_communicator_asgd() {
  return {"asgd",
          "one rank that evaluates the mean of all iterates so far",
          {.exchanges = ExchangePattern::kNone, .has_center = true, .only_one_rank = true},
          {},
          [](const CommunicatorContext& context) {
            return make_sequential_average(context, "asgd", "adownpour", MovingAverage());
          }};
}

}  // namespace eave
