// Reads photographs from JPEG and PNG files, told apart by their first bytes.
#pragma once

#include <cstdint>
#include <span>

#include "data/files/byte_source.h"

namespace eave {

// Limits of an image, in pixels and pixels per side. They bound the memory that a small file can demand.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
inline constexpr std::int64_t kLongestSideOfImage = 65500;

// Reads and checks the header: a JPEG or PNG, within these limits, of a size that a file of this length can hold.
// Throws Error: kBadData, with the file's name, if the header is not so; kInputOutput.
void check_image_header(const ByteSource& file);

// Reads the largest centred square of the image, resized to side x side x 3 bytes of red, green and blue. Converts
// grey, palettes, 16 bits and CMYK. Drops transparency, and ignores the camera's orientation (EXIF). Throws Error:
// kBadData, with the file's name, if the file is damaged or truncated; kInputOutput. Several threads may call it at
// once.
void read_image_square(const ByteSource& file, int side, std::span<std::uint8_t> pixels);

}  // namespace eave
