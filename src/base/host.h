// The machine this process runs on.
#pragma once

#include <optional>
#include <string>

namespace eave {

std::string host_name();  // "unknown" if the system does not tell

// Names this boot of this machine, and the process name space. If two processes have the same name here, a pid means
// the same process to both. Letters, digits and '-'.
std::string machine_name();

// When the process started, in ticks since the machine started. Nothing if there is no such process, or it is a zombie.
std::optional<long long> start_of_process(long long pid);

}  // namespace eave
