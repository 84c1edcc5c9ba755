// Fits an image into a square, row by row: the largest centred square of it, made smaller or larger.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace eave {

// Weights are those of a triangle that is as wide as two pixels of the smaller of both images, at least: bilinear
// interpolation when an image is made larger, an average over all that a pixel covers when it is made smaller. All
// arithmetic on pixels is in integers: each machine makes the same bytes of the same pixels.
class SquareResizer {
 public:
  explicit SquareResizer(int side) : side_(side) {}
  // The image to come, at least 1 x 1.
  void begin(int width, int height);
  // Rows of width x 3 bytes, red, green, blue, from the top; as many as the image is high.
  void add_row(std::span<const std::uint8_t> row);
  // side x side x 3 bytes.
  void finish(std::span<std::uint8_t> pixels) const;
  int side() const { return side_; }

 private:
  // What a pixel is made of: `count` neighbours from `first` on, with their weights.
  struct Blend {
    int first = 0;
    int count = 0;
    std::size_t weights = 0;  // where those begin
  };
  struct Axis {
    std::vector<Blend> blends;
    std::vector<std::int32_t> weights;
  };
  Axis axis(int extent, int square) const;
  void blend_across(std::span<const std::uint8_t> row);

  int side_;
  int row_number_ = 0;
  int first_open_ = 0;  // rows of the square above this one are done
  Axis across_, down_;
  std::vector<std::int32_t> blended_;  // a row of the square's width
  std::vector<std::int32_t> sums_;
};

}  // namespace eave
