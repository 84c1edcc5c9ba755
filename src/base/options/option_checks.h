// Checks values of options.
#pragma once

#include <string>

#include "eave/options.h"

namespace eave {

// Returns the value of a real option in [minimum, limit). Throws Error(kUsage) with these bounds otherwise.
double real_in(const OptionValues& values, const std::string& name, double minimum, double limit);

// Returns the value of a real option. Throws Error(kUsage) if it is 0 or below.
double positive_real_in(const OptionValues& values, const std::string& name);

// Throws Error(kUsage) with the option as it was given, and `reason`.
[[noreturn]] void refuse_option(const OptionValues& values, const std::string& name, const std::string& reason);

}  // namespace eave
