// Resizes the largest centred square of an image, row by row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace eave {

// Weights form a triangle, at least as wide as two pixels of the smaller of both images. So enlarging is bilinear
// interpolation, and shrinking averages all pixels that the new pixel covers. All arithmetic on pixels is in integers,
// so every machine makes the same bytes from the same pixels.
class SquareResizer {
 public:
  explicit SquareResizer(int side) : side_(side) {}
  // Begins an image of this size in pixels of its rows, at least 1 x 1. A picture that was decoded at a part of its
  // size may end within its last column or row. Such a column or row counts for nothing, for the rest of it is no
  // picture.
  void begin(double width, double height);
  // Adds the next row from the top: 3 bytes of red, green and blue for each pixel. Call it once for each row.
  void add_row(std::span<const std::uint8_t> row);
  // Writes the result: side x side x 3 bytes.
  void finish(std::span<std::uint8_t> pixels) const;
  int side() const { return side_; }

 private:
  // The sources of one pixel: `count` neighbours from `first` on, with their weights.
  struct Blend {
    int first = 0;
    int count = 0;
    std::size_t weights = 0;  // index of the first weight in Axis::weights
  };
  struct Axis {
    std::vector<Blend> blends;
    std::vector<std::int32_t> weights;
  };
  Axis axis(double extent, double square) const;
  void blend_across(std::span<const std::uint8_t> row);

  int side_;
  int row_number_ = 0;
  int first_open_ = 0;  // rows of the result above this one are done
  Axis across_, down_;
  std::vector<std::int32_t> blended_;  // one row, blended to the width of the result
  std::vector<std::int32_t> sums_;
};

}  // namespace eave
