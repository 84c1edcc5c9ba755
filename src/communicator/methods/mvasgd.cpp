// MVASGD: SGD that evaluates a moving average of its iterates, on one rank. Zhang, Choromanska, LeCun 2015, section 5,
// use it as a sequential baseline.
//
//   x <- x - step;   after each step:  z <- (1 - a) z + a x,  a = --average-rate (0.001 in the paper)
//
// The consensus is z. With a = 1, z equals x. The step may come from any optimizer; the paper has plain SGD. The rank
// keeps z beside x, and beside z its float32 rounding errors (move_average).
//
// The rank exchanges nothing. A run is deterministic.
#include "communicator/support/moving_average.h"

namespace eave {

CommunicatorKind describe_communicator_mvasgd() {
  return {"mvasgd",
          "one rank that evaluates a moving average of the iterates",
          {.exchanges = ExchangePattern::kNone, .has_center = true, .only_one_rank = true},
          {average_rate_option()},
          [](const CommunicatorContext& context) {
            const MovingAverage average = average_rate_in(context.values);
            warn_of_beginning(context, context.steps);
            return make_sequential_average(context, "mvasgd", "mvadownpour", average);
          }};
}

}  // namespace eave
