// Small helpers for text on a terminal.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace eave {

// printf into a string; texts over 511 characters are cut.
template <typename... Values>
std::string format(const char* pattern, Values... values) {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

// Columns of the terminal that shows standard error; 0 when it goes elsewhere (a file, a pipe, a remote daemon). Under
// mpirun standard error is a pipe to the launcher, so the launcher's own standard error is what counts.
int terminal_columns();

}  // namespace eave
