// Tells how much memory this process can still get.
#pragma once

#include <cstdint>

namespace eave {

// In bytes: the machine's free memory, swap included, or less if a limit of the process (ulimit -v) or of its control
// groups leaves less. -1 if it is not known. Other processes may take some of it meanwhile.
std::int64_t available_memory_bytes() noexcept;

}  // namespace eave
