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
// mpirun standard error is a pipe to the launcher, so `by_launcher` says to look where the launcher's own goes.
int terminal_columns(bool by_launcher);

}  // namespace eave
