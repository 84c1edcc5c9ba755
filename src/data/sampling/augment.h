// Turns the bytes of one image into the floats that a model sees: crop, mirror, normalise.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "eave/loader.h"

namespace eave {

// The place of the crop within the padded image, in pixels, and whether it is mirrored.
struct Placing {
  int top = 0;
  int left = 0;
  bool flip = false;
};

class ImageTransform {
 public:
  // `mean` and `deviation` have one entry per channel. Throws as Augmentation::output does.
  ImageTransform(ImageShape input, const Augmentation& augmentation, const std::vector<float>& mean,
                 const std::vector<float>& deviation);

  using Table = std::array<float, 256>;  // the float for each value of a channel's byte

  ImageShape output() const { return output_; }
  std::span<const Table> tables() const { return tables_; }
  Placing random(std::uint64_t seed, std::int64_t step, std::int64_t index) const;
  Placing centre() const;
  // `pixels` are HWC bytes of the input shape, `values` HWC floats of the output shape. Each value is (pixel / 255 −
  // mean) / deviation, correctly rounded from double.
  void apply(std::span<const std::uint8_t> pixels, Placing placing, std::span<float> values) const;

 private:
  void fill_border(float* row, int first, int last) const;
  void convert(const std::uint8_t* pixel, std::ptrdiff_t stride, int count, float* values) const;

  ImageShape input_;
  ImageShape output_;
  Augmentation augmentation_;
  std::vector<Table> tables_;  // one per channel
};

}  // namespace eave
