// MVASGD, SGD with a moving average (a sequential baseline of Zhang, Choromanska, LeCun 2015, section 5), on one rank.
//
//   x <- x - step;   after each step:  z <- (1 - a) z + a x,  a = --average-rate (0.001 there).
// With a = 1, z is x. The step is any optimizer's; published is plain SGD.
//
// Rounds: none. Evaluated is z, kept beside x with what float32 drops of it (move_average). Deterministic.
#include "communicator/sequential_average.h"

namespace eave {

CommunicatorKind describe_communicator_mvasgd() {
  return {"mvasgd",
          "one rank; evaluated is a moving average of the iterates",
          {.averages_gradients = false, .has_center = true, .only_one_rank = true, .compresses = false},
          {average_rate_option()},
          [](const CommunicatorContext& context) {
            const MovingAverage average = average_rate_in(context.values);
            warn_of_beginning(context, context.steps);
            return make_sequential_average(context, "mvasgd", average);
          }};
}

}  // namespace eave
