// Draws digits. No two are alike, and each is a pure function of the random numbers it is given.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "eave/batch.h"
#include "eave/random.h"

namespace eave {

// A digit is a few strokes, stored as a field of distances to them. Drawing reads the field under a random affine map
// and bend, cuts it at a random stroke width, and adds colours and noise. All per-pixel arithmetic is in integers, so
// every machine draws the same bytes.
class DigitRenderer {
 public:
  static constexpr int kMostChannels = 16;
  static constexpr int kLongestSide = 2048;

  explicit DigitRenderer(ImageShape shape);
  // `digit` is in [0, 10). `pixels` has shape.size() bytes, HWC. Several threads may call it at once.
  void draw(int digit, RandomStream random, std::span<std::uint8_t> pixels) const;

 private:
  static constexpr int kGrid = 64;
  using Field = std::array<std::uint16_t, kGrid * kGrid>;
  using Fields = std::array<std::vector<Field>, 10>;  // for each digit, one field for each way to write it
  struct Pose;
  static Fields make_fields();
  static const Fields& fields();
  Pose pick_pose(RandomStream& random) const;
  // How much of a pixel a stroke covers, from 0 to 256. `x` and `y` are grid coordinates in units of 1/65536.
  static std::int32_t cover(const Field& field, std::int32_t x, std::int32_t y, const Pose& pose);
  void cover_row(const Field& field, const Pose& pose, std::int32_t row, std::span<std::int32_t> coverage) const;

  ImageShape shape_;
  const Fields& fields_;
};

}  // namespace eave
