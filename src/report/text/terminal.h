// Helpers for text on a terminal.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace eave {

// Formats like printf into a string. Text beyond 511 characters is cut.
template <typename... Values>
std::string format(const char* pattern, Values... values) {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

// Columns of the terminal that shows standard error; 0 if it goes elsewhere (a file, a pipe, a remote daemon). Under
// mpirun, standard error is a pipe to the launcher. `by_launcher` says to look where the launcher's standard error
// goes.
int terminal_columns(bool by_launcher);

// The size of the terminal that shows standard output. It is 0 if standard output is not a terminal that can be drawn
// on.
struct TerminalSize {
  int columns = 0, rows = 0;
  bool operator==(const TerminalSize&) const = default;
};
TerminalSize output_terminal();

// Whether the locale uses UTF-8.
bool is_utf8_locale();

// "2.3026", for large values "1.5e+20" so that no number is longer than 20 digits, or "not finite".
std::string loss_text(double loss);

// "4:07", "1:02:03"
std::string clock_text(double seconds);

// At most the first `columns` characters of a text.
std::string first_characters(const std::string& text, int columns);

}  // namespace eave
