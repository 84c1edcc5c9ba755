// Helpers for text and curves on a terminal.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <vector>

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

// "2.3026", for large values "1.5e+20" so that no number is longer than 20 digits, or "not known".
std::string loss_text(double loss);

// "4:07", "1:02:03"
std::string clock_text(double seconds);

// The names with commas between them; after ten, only the number of the rest: "a, b and 3 more".
std::string listed(const std::vector<std::string>& names);

// The number of code points.
std::size_t count_characters(const std::string& text);

// The text, with blanks behind it up to `width` characters.
std::string padded(const std::string& text, std::size_t width);

// At most the first `columns` characters of a text.
std::string first_characters(const std::string& text, int columns);

struct PlotPoint {
  double x = 0, y = 0;
};

struct PlotStyle {
  int columns = 72, rows = 8;  // of characters, including labels
  // true: braille, 2 x 4 dots per character; false: ASCII, 1 x 2.
  bool is_utf8 = false;
};

// Returns lines of at most style.columns characters. They show the curve between its lowest and highest value, which
// are printed on the left. Points must be finite and in the order of x. Each column of dots shows the mean of its
// points. Nothing is returned for fewer than two points, or too few columns.
std::vector<std::string> text_plot(const std::vector<PlotPoint>& points, const PlotStyle& style);

}  // namespace eave
