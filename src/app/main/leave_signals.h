// Handles signals that ask a run to save a checkpoint and end. They come from batch systems before a time limit (mpirun
// passes them on), from Ctrl-C, and from a terminal that is closed.
#pragma once

#include <atomic>

namespace eave {

// Blocks SIGUSR1 in this thread and in all threads that it starts, until one of the functions below is called. Call it
// before anything else, also before constructors.
void hold_sigusr1() noexcept;
// Unblocks SIGUSR1, which then ends the process as by default. For commands that cannot leave on request.
void release_sigusr1() noexcept;

// Makes SIGUSR1 set the returned flag instead of ending the process, from now to the end of the process. A signal that
// was blocked before counts too. May be called by any thread, any number of times.
const std::atomic<bool>& hear_sigusr1();

// The same for SIGUSR1, SIGTERM, SIGINT (Ctrl-C) and SIGHUP (the terminal was closed). A second signal of the same
// kind, except SIGUSR1, ends the process. SIGINT and SIGHUP stay ignored if they were: by nohup, or in the background
// of a script.
const std::atomic<bool>& ask_to_leave_by_signals();

// Whether one of the signals was SIGINT: a person waits at a terminal.
const std::atomic<bool>& was_interrupted();

}  // namespace eave
