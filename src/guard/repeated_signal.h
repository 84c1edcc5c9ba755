// Tells a signal that was passed on twice from one that was sent a second time.
#pragma once

namespace eave {

// Call it in the handler of a signal that asks this process to leave. If the same signal came earlier and does not
// count as the same, the signal gets its default action back and ends the process when the handler returns.
void end_if_repeated(int signal) noexcept;

}  // namespace eave
