#include "data/images/square_resize.h"

#include <algorithm>
#include <cmath>

namespace eave {
namespace {

constexpr std::size_t kColours = 3;
// A byte blended twice with weights of 14 bits would have 36 bits. So 7 bits are rounded away between the two.
constexpr int kWeightBits = 14, kBetweenBits = 7, kSumBits = 2 * kWeightBits - kBetweenBits;

}  // namespace

SquareResizer::Axis SquareResizer::axis(double extent, double square) const {
  const double scale = square / side_, reach = std::max(1.0, scale);
  const double begin = (extent - square) / 2;
  const int whole_pixels = static_cast<int>(extent);
  Axis axis;
  std::vector<double> shares;
  for (int place = 0; place < side_; ++place) {
    const double centre = begin + (place + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(std::floor(centre - reach)));
    const int last = std::min(whole_pixels, static_cast<int>(std::ceil(centre + reach)));
    shares.clear();
    double sum = 0;
    for (int i = first; i < last; ++i) {
      sum += std::max(0.0, 1 - std::abs(i + 0.5 - centre) / reach);
      shares.push_back(sum);
    }
    axis.blends.push_back({first, last - first, axis.weights.size()});
    // Round the running sums and not the weights, so that the weights add up to exactly 1.
    std::int32_t before = 0;
    for (const double share : shares) {
      const auto until = static_cast<std::int32_t>(std::lround(share / sum * (1 << kWeightBits)));
      axis.weights.push_back(until - before);
      before = until;
    }
  }
  return axis;
}

void SquareResizer::begin(double width, double height) {
  const double square = std::min(width, height);
  across_ = axis(width, square);
  down_ = axis(height, square);
  const auto side = static_cast<std::size_t>(side_);
  blended_.assign(side * kColours, 0);
  sums_.assign(side * side * kColours, 0);
  row_number_ = first_open_ = 0;
}

void SquareResizer::blend_across(std::span<const std::uint8_t> row) {
  constexpr std::int32_t kHalf = 1 << (kBetweenBits - 1);
  std::int32_t* value = blended_.data();
  for (const Blend& blend : across_.blends) {
    const std::uint8_t* pixel = row.data() + static_cast<std::size_t>(blend.first) * kColours;
    const std::int32_t* weight = across_.weights.data() + blend.weights;
    std::int32_t red = kHalf, green = kHalf, blue = kHalf;
    for (int i = 0; i < blend.count; ++i, pixel += kColours) {
      red += weight[i] * pixel[0];
      green += weight[i] * pixel[1];
      blue += weight[i] * pixel[2];
    }
    *value++ = red >> kBetweenBits;
    *value++ = green >> kBetweenBits;
    *value++ = blue >> kBetweenBits;
  }
}

void SquareResizer::add_row(std::span<const std::uint8_t> row) {
  const int number = row_number_++;
  const auto blend_of = [&](int place) { return down_.blends[static_cast<std::size_t>(place)]; };
  while (first_open_ < side_ && blend_of(first_open_).first + blend_of(first_open_).count <= number) ++first_open_;
  if (first_open_ == side_ || blend_of(first_open_).first > number) return;
  blend_across(row);
  for (int place = first_open_; place < side_ && blend_of(place).first <= number; ++place) {
    const Blend blend = blend_of(place);
    const std::int32_t weight = down_.weights[blend.weights + static_cast<std::size_t>(number - blend.first)];
    std::int32_t* sums = sums_.data() + static_cast<std::size_t>(place) * blended_.size();
    for (std::size_t i = 0; i < blended_.size(); ++i) sums[i] += weight * blended_[i];
  }
}

void SquareResizer::finish(std::span<std::uint8_t> pixels) const {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>((sums_[i] + (1 << (kSumBits - 1))) >> kSumBits);
  }
}

}  // namespace eave
