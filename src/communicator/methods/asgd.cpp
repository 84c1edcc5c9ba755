// ASGD, averaged stochastic gradient descent (Polyak, Juditsky 1992; a sequential baseline of Zhang, Choromanska, LeCun
// 2015, section 5), on one rank.
//
//   x <- x - step;   after step t = 1, 2 ...:  z <- (1 - a) z + a x,  a = 1/(t + 1),
// so z is the mean of x_0 ... x_t. The step is any optimizer's; published is plain SGD. Of the other sequential
// baselines there, SGD and MSGD are `allreduce` or `none` on one rank, with --momentum 0 and with --nesterov; MVASGD is
// mvasgd.cpp.
//
// Rounds: none. Evaluated is z, kept beside x with what float32 drops of it (move_average). Deterministic.
#include "communicator/sequential_average.h"

namespace eave {

CommunicatorKind describe_communicator_asgd() {
  return {"asgd",
          "one rank; evaluated is the mean of all iterates so far",
          {.averages_gradients = false, .has_center = true, .only_one_rank = true, .compresses = false},
          {},
          [](const CommunicatorContext& context) { return make_sequential_average(context, "asgd", MovingAverage()); }};
}

}  // namespace eave
