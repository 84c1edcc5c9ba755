// Lines of the card that say which point a method exchanges under Nesterov's momentum. A worker holds y_i, the point
// ahead at which its next gradient is taken, and not the iterate x_i (Ahead in slice.h). y_i = x_i - lr mu v_i with
// --momentum-correction, and x_i - mu v_i without. Some methods exchange the x_i, others the y_i.
#pragma once

#include <string>

#include "eave/communicator.h"

namespace eave {

// Each returns "" if the workers have no Nesterov momentum.
std::string describe_pulled_iterates(const CommunicatorContext& context);  // easgd and its kin
std::string describe_gossiped_iterates(const CommunicatorContext& context);
std::string describe_pushed_iterates(const CommunicatorContext& context);  // downpour and its kin
std::string describe_averaged_points(const CommunicatorContext& context);  // local-sgd, bmuf, slowmo, diloco

}  // namespace eave
