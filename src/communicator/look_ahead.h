// Under Nesterov's momentum a worker holds y_i = x_i - lr mu v_i, the point ahead where its next gradient is taken, and
// not the iterate x_i (Ahead in slice.h). Which of the two a method exchanges is said on its card, in these lines.
#pragma once

#include <string>

#include "eave/communicator.h"

namespace eave {

// Each is "" where the run's workers have no Nesterov momentum.
std::string describe_pulled_iterates(const CommunicatorContext& context);  // easgd and its kin
std::string describe_gossiped_iterates(const CommunicatorContext& context);
std::string describe_pushed_iterates(const CommunicatorContext& context);  // downpour and its kin
std::string describe_averaged_points(const CommunicatorContext& context);  // local-sgd, bmuf, slowmo, diloco

}  // namespace eave
