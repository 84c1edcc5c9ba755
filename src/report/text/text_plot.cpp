#include <algorithm>
#include <cmath>

#include "report/text/terminal.h"

namespace eave {
namespace {

constexpr int kLabel = 10;  // columns for a value and the line beside it

// A grid of dots, and the characters that show it.
class Dots {
 public:
  Dots(int columns, int rows, bool is_utf8)
      : rows_(rows),
        across_(is_utf8 ? 2 : 1),
        down_(is_utf8 ? 4 : 2),
        is_utf8_(is_utf8),
        dots_(static_cast<std::size_t>(columns * across_ * rows * down_)) {}

  int width() const { return static_cast<int>(dots_.size()) / height(); }
  int height() const { return rows_ * down_; }
  void set(int x, int y) { dots_[static_cast<std::size_t>(y * width() + x)] = 1; }

  std::string row(int number) const {
    std::string text;
    for (int x = 0; x < width(); x += across_) text += is_utf8_ ? braille(x, number * 4) : ascii(x, number * 2);
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }

 private:
  int dot(int x, int y) const { return dots_[static_cast<std::size_t>(y * width() + x)]; }

  std::string ascii(int x, int y) const { return std::string(1, " '.:"[dot(x, y) + 2 * dot(x, y + 1)]); }

  // U+2800 with a bit for each dot: 1 2 4 64 down the left side, 8 16 32 128 down the right.
  std::string braille(int x, int y) const {
    static constexpr int kBits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    int bits = 0;
    for (int row = 0; row < 4; ++row) {
      for (int column = 0; column < 2; ++column) bits += dot(x + column, y + row) * kBits[row][column];
    }
    if (bits == 0) return " ";
    return {'\xe2', static_cast<char>(0xa0 + (bits >> 6)), static_cast<char>(0x80 + (bits & 63))};
  }

  int rows_, across_, down_;
  bool is_utf8_;
  std::vector<char> dots_;
};

// The mean of the points in each of `width` columns; NaN for a column without points.
std::vector<double> means(const std::vector<PlotPoint>& points, int width) {
  std::vector<double> sums(static_cast<std::size_t>(width)), counts(sums.size());
  const double first = points.front().x, span = points.back().x - first;
  for (const PlotPoint& point : points) {
    const double place = (point.x - first) / span * width;  // points of a damaged file may be out of order
    const auto column = place > 0 ? static_cast<std::size_t>(std::min(place, width - 1.0)) : 0;
    sums[column] += point.y;
    ++counts[column];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = counts[i] > 0 ? sums[i] / counts[i] : std::nan("");
  return sums;
}

// Fills gaps by linear interpolation.
void join(std::vector<double>& values) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    for (std::size_t between = last + 1; between < i; ++between) {
      const double share = static_cast<double>(between - last) / static_cast<double>(i - last);
      values[between] = values[last] + share * (values[i] - values[last]);
    }
    last = i;
  }
}

void draw(Dots& dots, const std::vector<double>& values, double low, double high) {
  const int bottom = dots.height() - 1;
  int before = -1;
  for (int x = 0; x < dots.width(); ++x) {
    const double share = (values[static_cast<std::size_t>(x)] - low) / (high - low);
    const double height = share > 0 ? std::min(share, 1.0) : 0;  // NaN if the numbers are near the largest double
    const int y = bottom - static_cast<int>(std::lround(height * bottom));
    // Connects this dot with the one before, by a vertical line that leaves out the earlier dot.
    for (int at = before; before >= 0 && at != y; at += y > before ? 1 : -1) {
      if (at != before) dots.set(x, at);
    }
    dots.set(x, y);
    before = y;
  }
}

}  // namespace

std::vector<std::string> text_plot(const std::vector<PlotPoint>& points, const PlotStyle& style) {
  if (style.columns < kLabel + 8 || style.rows < 2) return {};
  if (points.size() < 2 || !(points.back().x > points.front().x)) return {};
  Dots dots(style.columns - kLabel, style.rows, style.is_utf8);
  std::vector<double> values = means(points, dots.width());
  join(values);
  const auto [low, high] = std::ranges::minmax(values);
  const bool is_flat = !(high > low);
  draw(dots, values, is_flat ? low - 1 : low, is_flat ? low + 1 : high);
  std::vector<std::string> lines;
  for (int row = 0; row < style.rows; ++row) {
    const bool is_labelled = is_flat ? row == style.rows / 2 : row == 0 || row == style.rows - 1;
    const std::string label = is_labelled ? format("%8.3g", row == 0 ? high : low) : "";
    lines.push_back(format("%8s", label.c_str()) + (style.is_utf8 ? " \xe2\x94\x82" : " |") + dots.row(row));
  }
  return lines;
}

}  // namespace eave
