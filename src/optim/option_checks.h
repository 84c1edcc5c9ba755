// Checks that the members of this room share.
#pragma once

#include <string>

#include "eave/options.h"

namespace eave {

// The value of a real option in [minimum, limit). Throws Error(kUsage) that says so.
double real_in(const OptionValues& values, const std::string& name, double minimum, double limit);

// Throws Error(kUsage): --`name`, as given, `reason`.
[[noreturn]] void refuse_option(const OptionValues& values, const std::string& name, const std::string& reason);

// --weight-decay belongs to several optimizers: one meaning, one declaration.
OptionSpec weight_decay_option();

}  // namespace eave
