// Prints lines to standard error.
#pragma once

#include <string>

namespace eave {

// In one write, because other ranks may print at the same time.
void say(const std::string& line);
// Prints "eave: warning: …". The rank that speaks for the job calls it.
void warn(const std::string& text);

}  // namespace eave
