// Draws digits: no two alike, each a pure function of the random numbers it is given.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "eave/batch.h"
#include "eave/random.h"

namespace eave {

// A digit is a few strokes, kept as a field of distances to them. Drawing looks the field up under a random affine map
// and bend, and cuts it at a random stroke width; then come colours and noise. All per-pixel arithmetic is in integers,
// so that every machine draws the same bytes.
class DigitArtist {
 public:
  static constexpr int kMostChannels = 16;
  static constexpr int kLongestSide = 2048;

  explicit DigitArtist(ImageShape shape);
  // `digit` in [0, 10); `pixels` has shape.size() bytes, HWC. May be called from several threads at once.
  void draw(int digit, RandomStream random, std::span<std::uint8_t> pixels) const;

 private:
  static constexpr int kGrid = 64;
  using Field = std::array<std::uint16_t, kGrid * kGrid>;
  struct Pose;
  Pose pick_pose(RandomStream& random) const;
  // How much of a pixel is covered, 0 to 256; `x` and `y` are grid coordinates in 1/65536.
  static std::int32_t cover(const Field& field, std::int32_t x, std::int32_t y, const Pose& pose);
  void cover_row(const Field& field, const Pose& pose, std::int32_t row, std::span<std::int32_t> coverage) const;

  ImageShape shape_;
  std::array<std::vector<Field>, 10> fields_;  // per digit, one for each way to write it
};

}  // namespace eave
