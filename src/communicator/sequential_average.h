// What the averaged sequential baselines share: one rank that trains as if alone, and an average of where it was.
#pragma once

#include <memory>

#include "communicator/moving_average.h"
#include "eave/communicator.h"

namespace eave {

//   x <- x - step;   after step t = 1, 2 ...:  z <- (1 - a) z + a x,  z beginning as x.
// x is the iterate, also with Nesterov's momentum. z is the consensus; nothing is exchanged. Throws Error(kUsage) where
// the job has more than one rank; `name` is the method's.
std::unique_ptr<Communicator> make_sequential_average(const CommunicatorContext& context, const std::string& name,
                                                      const MovingAverage& average);

}  // namespace eave
