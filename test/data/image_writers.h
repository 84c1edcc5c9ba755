// JPEG and PNG files as others write them: by libjpeg and libpng.
#pragma once

#include <filesystem>

#include "test/data/data_files.h"

namespace eave {

// Of 1 (grey), 3 (red, green, blue) or 4 (CMYK) bytes a pixel.
struct Picture {
  int width = 0;
  int height = 0;
  int channels = 3;
  Bytes bytes;
};

// Smooth, with other values in each channel.
Picture gradients(int width, int height, int channels = 3);

enum class JpegKind { kBaseline, kProgressive, kManyScans };
Bytes jpeg_of(const Picture& picture, JpegKind kind = JpegKind::kBaseline, int quality = 95);

// `colours` and `bits` as libpng names them; `rows` as they stand in the file, each padded to whole bytes. With a
// palette entry i is (i, 255 - i, 7), the first one transparent.
Bytes png_of(int width, int height, int colours, int bits, bool is_interlaced, const Bytes& rows);
Bytes png_of(const Picture& picture);

// train/CLASS/* and test/CLASS/* of 3 classes: 12 and 4 images each, of all sizes, JPEG and PNG.
void write_image_folder(const std::filesystem::path& directory);

}  // namespace eave
