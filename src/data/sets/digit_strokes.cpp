#include "data/sets/digit_strokes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace eave {
namespace {

// Degrees turn clockwise from the right, because y points down: 90 is the bottom.
Stroke arc(Point centre, Point radius, double from_degrees, double to_degrees) {
  constexpr int kPieces = 32;
  Stroke stroke;
  for (int i = 0; i <= kPieces; ++i) {
    const double degrees = from_degrees + (to_degrees - from_degrees) * i / kPieces;
    const double angle = degrees * std::numbers::pi / 180.0;
    stroke.push_back({centre.x + radius.x * std::cos(angle), centre.y + radius.y * std::sin(angle)});
  }
  return stroke;
}

Stroke ellipse(Point centre, Point radius) { return arc(centre, radius, 0, 360); }

Stroke operator+(Stroke stroke, const Stroke& more) {
  stroke.insert(stroke.end(), more.begin(), more.end());
  return stroke;
}

double distance(Point a, Point b, Point point) {
  const Point along{b.x - a.x, b.y - a.y};
  const Point to{point.x - a.x, point.y - a.y};
  const double length = along.x * along.x + along.y * along.y;
  const double t = length == 0 ? 0 : std::clamp((to.x * along.x + to.y * along.y) / length, 0.0, 1.0);
  return std::hypot(to.x - t * along.x, to.y - t * along.y);
}

}  // namespace

std::array<std::vector<Glyph>, 10> digit_glyphs() {
  const Glyph zero = {ellipse({0, 0}, {0.28, 0.5})};
  const Glyph one = {{{-0.15, -0.32}, {0.03, -0.5}, {0.03, 0.5}}};
  const Glyph one_with_foot = {{{-0.15, -0.32}, {0.03, -0.5}, {0.03, 0.5}}, {{-0.18, 0.5}, {0.22, 0.5}}};
  const Glyph two = {arc({0, -0.22}, {0.27, 0.28}, 200, 390) + Stroke{{-0.28, 0.5}, {0.3, 0.5}}};
  const Glyph three = {arc({-0.02, -0.25}, {0.26, 0.25}, 200, 450) + arc({-0.02, 0.24}, {0.29, 0.26}, 270, 520)};
  const Glyph angular_three = {Stroke{{-0.26, -0.5}, {0.26, -0.5}, {-0.04, -0.08}} +
                               arc({-0.02, 0.2}, {0.29, 0.3}, 270, 520)};
  const Glyph four = {{{0.12, 0.5}, {0.12, -0.5}, {-0.3, 0.18}, {0.3, 0.18}}};
  const Glyph open_four = {{{-0.2, -0.5}, {-0.28, 0.1}, {0.3, 0.1}}, {{0.14, -0.3}, {0.1, 0.5}}};
  const Glyph five = {Stroke{{0.26, -0.5}, {-0.2, -0.5}, {-0.23, -0.05}} + arc({-0.01, 0.17}, {0.28, 0.33}, 220, 510)};
  const Glyph six = {arc({0.1, 0.1}, {0.38, 0.6}, 285, 180), ellipse({0, 0.2}, {0.28, 0.3})};
  const Glyph seven = {{{-0.28, -0.5}, {0.28, -0.5}, {-0.08, 0.5}}};
  const Glyph barred_seven = {{{-0.28, -0.5}, {0.28, -0.5}, {-0.08, 0.5}}, {{-0.14, 0.02}, {0.24, 0.02}}};
  const Glyph eight = {ellipse({0, -0.25}, {0.23, 0.25}), ellipse({0, 0.24}, {0.28, 0.26})};
  const Glyph nine = {ellipse({0, -0.2}, {0.28, 0.3}), arc({-0.1, -0.1}, {0.38, 0.6}, 105, 0)};
  const Glyph straight_nine = {ellipse({0, -0.22}, {0.27, 0.28}), {{0.27, -0.22}, {0.2, 0.5}}};
  return {{{zero},
           {one, one_with_foot},
           {two},
           {three, angular_three},
           {four, open_four},
           {five},
           {six},
           {seven, barred_seven},
           {eight},
           {nine, straight_nine}}};
}

double distance(const Glyph& glyph, Point point) {
  double nearest = HUGE_VAL;
  for (const Stroke& stroke : glyph) {
    for (std::size_t i = 1; i < stroke.size(); ++i) {
      nearest = std::min(nearest, distance(stroke[i - 1], stroke[i], point));
    }
  }
  return nearest;
}

}  // namespace eave
