// Checks of options.
#pragma once

#include <string>

#include "eave/options.h"

namespace eave {

// The value of a real option in [minimum, limit). Throws Error(kUsage) that says so.
double real_in(const OptionValues& values, const std::string& name, double minimum, double limit);

// The value of a real option. Throws Error(kUsage) where it is 0 or below.
double positive_real_in(const OptionValues& values, const std::string& name);

// Throws Error(kUsage): --`name`, as given, `reason`.
[[noreturn]] void refuse_option(const OptionValues& values, const std::string& name, const std::string& reason);

}  // namespace eave
