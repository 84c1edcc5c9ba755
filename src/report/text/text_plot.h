// Draws a curve with characters.
#pragma once

#include <string>
#include <vector>

namespace eave {

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
