// Signals that ask a run to leave: what batch systems send before a time limit, and mpirun passes on; Ctrl-C; the end
// of a terminal.
#pragma once

#include <atomic>

namespace eave {

// SIGUSR1 waits until one of the functions below is called, in each thread that begins after this. To be called before
// all else, also before constructors.
void hold_sigusr1() noexcept;
// Ends that wait: SIGUSR1 ends the process, as it ends any other. For what does not leave on request.
void release_sigusr1() noexcept;

// From here to the end of the process SIGUSR1 sets what is returned, instead of ending it; also one that came before.
// Any thread, any number of times.
const std::atomic<bool>& hear_sigusr1();

// The same for SIGTERM, SIGINT (Ctrl-C) and SIGHUP (the terminal was closed), too; a second one of a kind ends the
// process. SIGINT and SIGHUP stay ignored where they were: by nohup, or in the background of a script.
const std::atomic<bool>& ask_to_leave_by_signals();

// Whether SIGINT was among them: somebody waits at a terminal.
const std::atomic<bool>& was_interrupted();

}  // namespace eave
