// Tells a signal that was passed on twice from one that was sent a second time.
#pragma once

#include <atomic>
#include <chrono>

namespace eave {

// How long after the first signal of its kind a further one counts as the same. Launchers pass SIGTERM on to ranks that
// have heard it already. When a terminal is closed, first its shell and then the kernel send SIGHUP. Wrappers pass on a
// Ctrl-C that their program has heard from the terminal; a person takes longer to press it again.
std::chrono::milliseconds same_signal_within(int signal) noexcept;

// Call it in the handler of a signal that asks this process to leave. If the same signal came earlier and does not
// count as the same, the signal gets its default action back and ends the process when the handler returns.
void end_if_repeated(int signal) noexcept;

}  // namespace eave
