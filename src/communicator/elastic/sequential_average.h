// The base of the averaged sequential baselines, asgd and mvasgd: one rank trains as if alone and averages its
// iterates.
#pragma once

#include <memory>

#include "communicator/elastic/moving_average.h"
#include "eave/communicator.h"

namespace eave {

//   x <- x - step;   after step t = 1, 2 ...:  z <- (1 - a) z + a x,  z beginning as x
// x is the iterate, also with Nesterov's momentum. z is the consensus. The rank exchanges nothing. Throws Error(kUsage)
// if the job has more than one rank. `name` is the method's name.
std::unique_ptr<Communicator> make_sequential_average(const CommunicatorContext& context, const std::string& name,
                                                      const MovingAverage& average);

}  // namespace eave
