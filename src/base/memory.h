// How much memory this process may still have.
#pragma once

#include <cstdint>

namespace eave {

// Bytes: what the machine has free, swap included, or less if a limit of the process (ulimit -v) or of its control
// groups leaves less. -1: not known. Other processes may take some of it meanwhile.
std::int64_t available_memory_bytes() noexcept;

}  // namespace eave
