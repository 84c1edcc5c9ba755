// What this process may use, and has used.
#pragma once

#include <cstdint>
#include <string>

namespace eave {

std::string core_binding();        // cores this process may run on: "0-3,8"
std::int64_t peak_memory_bytes();  // largest resident set so far

}  // namespace eave
