// Photographs in files: JPEG and PNG, told apart by their first bytes.
#pragma once

#include <cstdint>
#include <span>

#include "data/byte_source.h"

namespace eave {

// No image may have more pixels, or a longer side: what a small file can make of itself in memory stays in bounds.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
inline constexpr std::int64_t kLongestSideOfImage = 65500;

// Reads the header. Throws Error(kBadData) that names the file unless it is that of a JPEG or a PNG within these
// bounds, and of a size that so short a file can hold; kInputOutput.
void check_image_header(const ByteSource& file);

// The largest centred square of the image in 8 bits of red, green and blue, as side x side x 3 bytes. Grey, palettes,
// 16 bits and CMYK are converted, transparency is dropped, and how the camera was held (EXIF) is not looked at. Throws
// Error(kBadData) that names the file where it is damaged or truncated, kInputOutput. May be called from several
// threads.
void read_image_square(const ByteSource& file, int side, std::span<std::uint8_t> pixels);

}  // namespace eave
