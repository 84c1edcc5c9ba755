// Reads photographs from JPEG and PNG files, told apart by their first bytes. The decoders are in jpeg_image.cpp and
// png_image.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <string>

#include "data/files/byte_source.h"
#include "data/images/square_resize.h"

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

// Everything below is for the decoders of JPEG and PNG.
//
// Reads a file in pieces, for decoders written in C, through which no exception may pass.
class FilePieces {
 public:
  explicit FilePieces(const ByteSource& file) : file_(file) {}
  // Returns the next piece; empty at the end of the file, or if it cannot be read.
  std::span<const std::uint8_t> next() noexcept;
  void skip(std::uint64_t bytes) { offset_ += bytes; }
  // Rethrows the exception of next(), if there was one.
  void rethrow() const;

 private:
  const ByteSource& file_;
  std::uint64_t offset_ = 0;
  std::array<std::uint8_t, 16384> piece_;
  std::exception_ptr error_;
};

inline constexpr const char* kImageAdvice = "get or make it again, or remove it";
[[noreturn]] void refuse_image(const ByteSource& file, const std::string& what, const char* advice = kImageAdvice);
// Throws Error(kBadData) if these are more pixels than an image may have.
void check_image_size(const ByteSource& file, std::int64_t width, std::int64_t height);

// Refuses a file that is shorter than any image of its size could be.
void check_file_size(const ByteSource& file, std::int64_t width, std::int64_t height, std::uint64_t least_bytes);

// Gives all rows to `resizer`. If it is nullptr, reads the header only.
void decode_jpeg(const ByteSource& file, SquareResizer* resizer);
void decode_png(const ByteSource& file, SquareResizer* resizer);

}  // namespace eave
