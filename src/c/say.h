// Lines on standard error.
#pragma once

#include <string>

namespace eave {

// In one write, for other ranks may speak at the same time.
void say(const std::string& line);
// "eave: warning: …". Called by the rank that speaks for the job.
void warn(const std::string& text);

}  // namespace eave
