#include "test/data/image_writers.h"

#include <png.h>

#include <cstddef>
#include <cstdio>
// jpeglib.h needs <cstddef> and <cstdio> before it.
#include <jpeglib.h>

#include <cstdlib>
#include <utility>

namespace eave {
namespace {

constexpr int kColours = 3, kCoefficients = 64;

// One scan of the constant coefficients of all colours, then one for each other coefficient of each colour.
std::vector<jpeg_scan_info> many_scans() {
  std::vector<jpeg_scan_info> scans = {{kColours, {0, 1, 2}, 0, 0, 0, 0}};
  for (int colour = 0; colour < kColours; ++colour) {
    for (int i = 1; i < kCoefficients; ++i) scans.push_back({1, {colour}, i, i, 0, 0});
  }
  return scans;
}

}  // namespace

Picture gradients(int width, int height, int channels) {
  Picture picture{width, height, channels, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int channel = 0; channel < channels; ++channel) {
        const int value = channel == 0 ? 255 * x / width : channel == 1 ? 255 * y / height : 127 * x / width + 60;
        picture.bytes.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return picture;
}

Bytes jpeg_of(const Picture& picture, JpegKind kind, int quality) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long count = 0;
  jpeg_mem_dest(&info, &memory, &count);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.input_components = picture.channels;
  info.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : picture.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  const std::vector<jpeg_scan_info> scans = many_scans();
  if (kind == JpegKind::kProgressive) jpeg_simple_progression(&info);
  if (kind == JpegKind::kManyScans) {
    info.scan_info = scans.data();
    info.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  const std::size_t stride = static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.channels);
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.bytes.data() + info.next_scanline * stride);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  Bytes file(memory, memory + count);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return file;
}

Bytes png_of(int width, int height, int colours, int bits, bool is_interlaced, const Bytes& rows) {
  Bytes file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp to, png_bytep bytes, std::size_t count) {
        auto& all = *static_cast<Bytes*>(png_get_io_ptr(to));
        all.insert(all.end(), bytes, bytes + count);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), bits, colours,
               is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (colours == PNG_COLOR_TYPE_PALETTE) {
    std::vector<png_color> palette;
    for (int i = 0; i < 1 << bits; ++i) {
      palette.push_back({static_cast<png_byte>(i), static_cast<png_byte>(255 - i), 7});
    }
    png_set_PLTE(png, info, palette.data(), 1 << bits);
    png_byte transparent = 0;
    png_set_tRNS(png, info, &transparent, 1, nullptr);
  }
  png_write_info(png, info);
  const std::size_t stride = png_get_rowbytes(png, info);
  std::vector<png_bytep> pointers;
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    pointers.push_back(const_cast<png_bytep>(rows.data() + y * stride));
  }
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

Bytes png_of(const Picture& picture) {
  return png_of(picture.width, picture.height, picture.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, 8,
                false, picture.bytes);
}

void write_image_folder(const std::filesystem::path& directory) {
  int number = 0;
  for (const auto& [part, count] : {std::pair{"train", 12}, std::pair{"test", 4}}) {
    for (const char* name : {"bird", "cat", "ship"}) {
      const std::filesystem::path folder = directory / part / name;
      std::filesystem::create_directories(folder);
      for (int i = 0; i < count; ++i, ++number) {
        const Picture picture = gradients(40 + 3 * number, 90 - number, number % 4 == 3 ? 1 : 3);
        const std::string stem = "image" + std::to_string(i);
        if (i % 2 == 0) write_bytes(folder / (stem + ".jpg"), jpeg_of(picture));
        if (i % 2 == 1) write_bytes(folder / (stem + ".PNG"), png_of(picture));
      }
    }
  }
}

}  // namespace eave
