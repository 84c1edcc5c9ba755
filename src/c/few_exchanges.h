// Says at the end of a run whether its ranks have exchanged too rarely.
#pragma once

#include <cstdint>
#include <string>

#include "eave/options.h"

namespace eave {

// A warning if a method that exchanges every tau steps has made no exchange, or only a few, in this many steps; "" if
// it has made enough, or if its intervals are not fixed. `values`: the options of the averager.
std::string describe_few_exchanges(const OptionValues& values, std::int64_t steps);

}  // namespace eave
