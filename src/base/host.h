// The machine this process runs on.
#pragma once

#include <string>

namespace eave {

std::string host_name();  // "unknown" when the system does not tell

}  // namespace eave
