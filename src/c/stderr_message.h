// Prints messages to standard error.
#pragma once

#include <unistd.h>

#include <string>

#include "base/printable.h"

namespace eave {

// In one write, because other ranks may print at the same time.
inline void print_message(const std::string& line) {
  const std::string whole = printable(line) + "\n";
  if (write(STDERR_FILENO, whole.data(), whole.size()) < 0) return;
}

// Prints "eave: warning: …". The rank that speaks for the job calls it.
inline void warn(const std::string& text) { print_message("eave: warning: " + text); }

}  // namespace eave
