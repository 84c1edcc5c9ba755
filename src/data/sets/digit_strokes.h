// The strokes of the ten digits, as polylines in a box of x in [-0.3, 0.3], y in [-0.5, 0.5], y pointing down.
#pragma once

#include <array>
#include <vector>

namespace eave {

struct Point {
  double x = 0;
  double y = 0;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

// For each digit, the ways to write it; at least one.
std::array<std::vector<Glyph>, 10> digit_glyphs();

// The distance from a point to the nearest point of the glyph's strokes.
double distance(const Glyph& glyph, Point point);

}  // namespace eave
