// Small helpers for text on a terminal.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

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

inline int terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 100;
}

}  // namespace eave
