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

// Of standard output; no columns where it is no terminal that can be drawn on.
struct TerminalSize {
  int columns = 0, rows = 0;
  bool operator==(const TerminalSize&) const = default;
};
TerminalSize output_terminal();

// Whether the locale's characters are UTF-8.
bool is_utf8_locale();

// "2.3026"; of large ones "1.5e+20", so that no number takes more than 20 digits; "not finite".
std::string loss_text(double loss);

// "4:07", "1:02:03"
std::string clock_text(double seconds);

// The first characters of a text, at most as many.
std::string first_characters(const std::string& text, int columns);

}  // namespace eave
