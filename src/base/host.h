// The machine this process runs on.
#pragma once

#include <optional>
#include <string>

namespace eave {

std::string host_name();  // "unknown" when the system does not tell

// Names this boot of this machine and the name space of its processes: where it is the same, a process's number means
// the same process. Letters, digits and '-'.
std::string machine_name();

// When the process began, in ticks since the machine started; nothing where there is none, or only its remains.
std::optional<long long> start_of_process(long long pid);

}  // namespace eave
