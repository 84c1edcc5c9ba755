// Signals that ask a run to leave: what batch systems send before a time limit, and mpirun passes on.
#pragma once

#include <atomic>

namespace eave {

// From here to the end of the process SIGUSR1 and SIGTERM set what is returned, instead of ending it; a second SIGTERM
// ends it. Any thread, any number of times.
const std::atomic<bool>& ask_to_leave_by_signals();

}  // namespace eave
