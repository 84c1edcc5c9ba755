// Sums of squares in double, in an order that does not depend on the instruction set.
#pragma once

#include <cstddef>

namespace eave::cpu {

double sum_of_squares(const float* values, std::size_t count);
double sum_of_squared_differences(const float* a, const float* b, std::size_t count);

}  // namespace eave::cpu
