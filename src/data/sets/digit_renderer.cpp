#include "data/sets/digit_renderer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "eave/check.h"

namespace eave {
namespace {

// The strokes of the ten digits are polylines in a box of x in [-0.3, 0.3], y in [-0.5, 0.5], y pointing down.
struct Point {
  double x = 0;
  double y = 0;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

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

// For each digit, the ways to write it; at least one.
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

constexpr double kReach = 0.8;           // the field covers [-kReach, kReach] each way
constexpr double kPerDistance = 8192.0;  // steps of a stored distance per unit
constexpr double kOne = 65536.0;

// Lowers the squared distances of a row of points from the nearest stroke to those from the line between a and b. The
// points lie at `y`, at -kReach + i * step. Measured from the middle of the line, a point is `along` it and `across`
// it.
void lower(std::span<double> squares, double y, double step, Point a, Point b) {
  const double length = std::sqrt((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y));
  const Point unit{(b.x - a.x) / length, (b.y - a.y) / length};
  const double from_x = -kReach - 0.5 * (a.x + b.x), from_y = y - 0.5 * (a.y + b.y);
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const double x = from_x + static_cast<double>(i) * step;
    const double along = x * unit.x + from_y * unit.y, across = from_y * unit.x - x * unit.y;
    const double beyond = std::max(std::abs(along) - 0.5 * length, 0.0);
    squares[i] = std::min(squares[i], across * across + beyond * beyond);
  }
}

// The distances of a row of a grid from the nearest stroke of the glyph.
template <std::size_t kSide>
std::array<double, kSide> distances_of_row(const Glyph& glyph, std::size_t row) {
  constexpr double kStep = 2 * kReach / (kSide - 1);
  std::array<double, kSide> distances;
  distances.fill(HUGE_VAL);
  for (const Stroke& stroke : glyph) {
    for (std::size_t i = 1; i < stroke.size(); ++i)
      lower(distances, static_cast<double>(row) * kStep - kReach, kStep, stroke[i - 1], stroke[i]);
  }
  for (double& each : distances) each = std::sqrt(each);
  return distances;
}

std::int32_t round_to_int(double value) { return static_cast<std::int32_t>(std::lround(value)); }

double between(RandomStream& random, double low, double high) { return low + (high - low) * double{random.uniform()}; }

std::uint8_t to_byte(std::int32_t value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); }

// Adds noise, uniform in [-amplitude, amplitude). Works in pieces that the compiler turns into vector instructions.
void add_noise(std::span<std::uint8_t> pixels, std::int32_t amplitude, RandomStream& random) {
  std::array<std::uint8_t, 64> noise;
  while (!pixels.empty()) {
    const std::size_t count = std::min(pixels.size(), noise.size());
    for (std::size_t i = 0; i < count; i += 4) {
      const std::uint32_t word = random.next_word();
      for (std::size_t k = 0; k < 4; ++k) noise[i + k] = static_cast<std::uint8_t>(word >> (8 * k));
    }
    for (std::size_t i = 0; i < count; ++i) pixels[i] = to_byte(pixels[i] + (((noise[i] - 128) * amplitude) >> 7));
    pixels = pixels.subspan(count);
  }
}

}  // namespace

// The random choices for one picture. The grid coordinates of the pixel in row r, column c, in units of 1/65536:
// x = origin_x + c·x_by_column + r·x_by_row + bend·(r − middle)²; y is the same without the bend.
struct DigitRenderer::Pose {
  std::int32_t origin_x = 0, x_by_column = 0, x_by_row = 0;
  std::int32_t origin_y = 0, y_by_column = 0, y_by_row = 0;
  double bend = 0;
  std::int32_t half_width = 0;  // half a stroke's width, in stored distances
  // If a corner of a grid cell has a larger stored distance, nothing within the cell is covered.
  std::int32_t far = 0;
  std::int32_t sharpness = 0;  // 1/65536 of coverage per stored distance
  std::int32_t noise = 0;
  std::array<std::int32_t, kMostChannels> paper{};
  std::array<std::int32_t, kMostChannels> ink{};  // the ink's colour minus the paper's
};

DigitRenderer::Fields DigitRenderer::make_fields() {
  Fields fields;
  const auto glyphs = digit_glyphs();
  for (std::size_t digit = 0; digit < glyphs.size(); ++digit) {
    for (const Glyph& glyph : glyphs[digit]) {
      Field& field = fields[digit].emplace_back();
      for (std::size_t row = 0; row < kGrid; ++row) {
        const std::array<double, kGrid> distances = distances_of_row<kGrid>(glyph, row);
        for (std::size_t i = 0; i < kGrid; ++i)
          field[row * kGrid + i] = static_cast<std::uint16_t>(round_to_int(kPerDistance * distances[i]));
      }
    }
  }
  return fields;
}

// The fields are the same for every shape, and are made once for all ranks that are threads.
const DigitRenderer::Fields& DigitRenderer::fields() {
  static const Fields kFields = make_fields();
  return kFields;
}

DigitRenderer::DigitRenderer(ImageShape shape) : shape_(shape), fields_(fields()) {
  EAVE_CHECK(shape.channels >= 1 && shape.channels <= kMostChannels && shape.width <= kLongestSide, "can be drawn");
}

DigitRenderer::Pose DigitRenderer::pick_pose(RandomStream& random) const {
  const double tall = between(random, 0.55, 0.8), wide = tall * between(random, 0.7, 1.2);  // per unit of the glyph
  const double angle = between(random, -0.35, 0.35), shear = between(random, -0.3, 0.3);
  const double move_x = between(random, -0.13, 0.13), move_y = between(random, -0.1, 0.1);
  // Picture = move + rotation · shear · scale · glyph, with picture sides of length 1. Drawing needs the inverse.
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double xx = cosine * wide, xy = (shear * cosine - sine) * tall;
  const double yx = sine * wide, yy = (shear * sine + cosine) * tall;
  const double determinant = xx * yy - xy * yx;
  const double grid = kOne * (kGrid - 1) / (2 * kReach) / determinant;
  const double column = 1.0 / shape_.width, row = 1.0 / shape_.height;
  const double left = 0.5 * column - 0.5 - move_x, top = 0.5 * row - 0.5 - move_y;
  const double middle = kOne * (kGrid - 1) / 2;

  Pose pose;
  pose.x_by_column = round_to_int(grid * yy * column);
  pose.x_by_row = round_to_int(-grid * xy * row);
  pose.origin_x = round_to_int(middle + grid * (yy * left - xy * top));
  pose.y_by_column = round_to_int(-grid * yx * column);
  pose.y_by_row = round_to_int(grid * xx * row);
  pose.origin_y = round_to_int(middle + grid * (xx * top - yx * left));
  pose.bend = between(random, -0.6, 0.6) * grid * determinant * row * row;
  pose.half_width = round_to_int(kPerDistance * between(random, 0.03, 0.09));
  pose.sharpness = round_to_int(kOne * 256 / kPerDistance * tall * shape_.height);
  const double cell_diagonal = std::sqrt(2.0) * kPerDistance * 2 * kReach / (kGrid - 1);
  pose.far = pose.half_width + round_to_int(cell_diagonal + 128 * kOne / pose.sharpness) + 1;
  pose.noise = round_to_int(between(random, 15, 80));
  const double paper = between(random, 0, 70), ink = between(random, 120, 240);
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(shape_.channels); ++channel) {
    const double tint = shape_.channels > 1 ? 40 : 0;
    pose.paper[channel] = round_to_int(paper + between(random, -tint, tint));
    pose.ink[channel] = round_to_int(ink + between(random, -tint, tint)) - pose.paper[channel];
  }
  return pose;
}

std::int32_t DigitRenderer::cover(const Field& field, std::int32_t x, std::int32_t y, const Pose& pose) {
  constexpr std::uint32_t kEnd = (kGrid - 1) << 16;
  if (static_cast<std::uint32_t>(x) >= kEnd || static_cast<std::uint32_t>(y) >= kEnd) return 0;
  const std::uint16_t* corner = field.data() + (y >> 16) * kGrid + (x >> 16);
  if (corner[0] > pose.far) return 0;
  const std::int32_t right = (x >> 8) & 255, down = (y >> 8) & 255;
  const std::int32_t above = corner[0] * (256 - right) + corner[1] * right;
  const std::int32_t below = corner[kGrid] * (256 - right) + corner[kGrid + 1] * right;
  const std::int32_t away = (above * (256 - down) + below * down) >> 16;
  const std::int64_t coverage = 128 + ((std::int64_t{pose.half_width - away} * pose.sharpness) >> 16);
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(coverage, 0, 256));
}

void DigitRenderer::cover_row(const Field& field, const Pose& pose, std::int32_t row,
                              std::span<std::int32_t> coverage) const {
  const double off_middle = row - 0.5 * (shape_.height - 1);
  std::int32_t x = pose.origin_x + row * pose.x_by_row + round_to_int(pose.bend * off_middle * off_middle);
  std::int32_t y = pose.origin_y + row * pose.y_by_row;
  for (std::int32_t& here : coverage) {
    here = cover(field, x, y, pose);
    x += pose.x_by_column;
    y += pose.y_by_column;
  }
}

void DigitRenderer::draw(int digit, RandomStream random, std::span<std::uint8_t> pixels) const {
  const auto& ways = fields_[static_cast<std::size_t>(digit)];
  const Field& field = ways[random.below(static_cast<std::uint32_t>(ways.size()))];
  const Pose pose = pick_pose(random);
  const auto channels = static_cast<std::size_t>(shape_.channels);
  std::array<std::int32_t, kLongestSide> room;
  const auto coverage = std::span(room).first(static_cast<std::size_t>(shape_.width));
  std::uint8_t* pixel = pixels.data();
  for (std::int32_t row = 0; row < shape_.height; ++row, pixel += coverage.size() * channels) {
    cover_row(field, pose, row, coverage);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const std::int32_t paper = pose.paper[channel], ink = pose.ink[channel];
      for (std::size_t column = 0; column < coverage.size(); ++column) {
        pixel[column * channels + channel] = to_byte(paper + ((coverage[column] * ink) >> 8));
      }
    }
  }
  add_noise(pixels, pose.noise, random);
}

}  // namespace eave
