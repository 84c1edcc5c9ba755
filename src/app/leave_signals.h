// Signals that ask a run to leave: what batch systems send before a time limit, and mpirun passes on.
#pragma once

#include <atomic>

namespace eave {

// From here to the end of the process SIGUSR1 sets what is returned, instead of ending it. Any thread, any number of
// times.
const std::atomic<bool>& hear_sigusr1();

// The same for SIGTERM, too; a second one ends the process.
const std::atomic<bool>& ask_to_leave_by_signals();

}  // namespace eave
