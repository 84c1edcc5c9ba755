// A line drawn with characters.
#pragma once

#include <string>
#include <vector>

namespace eave {

struct PlotPoint {
  double x = 0, y = 0;
};

struct PlotStyle {
  int columns = 72, rows = 8;  // of characters, labels included
  bool is_utf8 = false;        // braille, 2 x 4 dots a character; else ASCII, 1 x 2
};

// Lines of at most style.columns characters: the curve between its lowest and highest value, which stand at the left.
// Each column of dots is the mean of the points in it, which
// are finite and in the order of x. Nothing where there are no two points or not enough columns.
std::vector<std::string> text_plot(const std::vector<PlotPoint>& points, const PlotStyle& style);

}  // namespace eave
