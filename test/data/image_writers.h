// Writes JPEG and PNG files with libjpeg and libpng, as other programs do.
#pragma once

#include <filesystem>

#include "test/data/data_files.h"

namespace eave {

// An uncompressed picture. A pixel has 1 (grey), 3 (red, green, blue) or 4 (CMYK) bytes.
struct Picture {
  int width = 0;
  int height = 0;
  int channels = 3;
  Bytes bytes;
};

// A smooth picture with other values in each channel.
Picture gradients(int width, int height, int channels = 3);

enum class JpegKind { kBaseline, kProgressive, kManyScans };
Bytes jpeg_of(const Picture& picture, JpegKind kind = JpegKind::kBaseline, int quality = 95);

// A PNG file. `colours` and `bits` are libpng's colour type and bit depth. `rows` are the bytes of the file's rows,
// each padded to whole bytes. If there is a palette, entry i is (i, 255 - i, 7), and the first entry is transparent.
Bytes png_of(int width, int height, int colours, int bits, bool is_interlaced, const Bytes& rows);
Bytes png_of(const Picture& picture);

// Writes train/CLASS/* and test/CLASS/* of 3 classes, with 12 and 4 images per class of various sizes, JPEG and PNG.
void write_image_folder(const std::filesystem::path& directory);

}  // namespace eave
