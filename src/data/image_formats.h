// The two formats of images, and what their decoders share.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <string>

#include "data/byte_source.h"
#include "data/square_resize.h"

namespace eave {

// A file in pieces, for decoders in C, through which no exception may pass.
class FilePieces {
 public:
  explicit FilePieces(const ByteSource& file) : file_(file) {}
  // Nothing at the end of the file, or where it cannot be read.
  std::span<const std::uint8_t> next() noexcept;
  void skip(std::uint64_t bytes) { offset_ += bytes; }
  // What reading has thrown, if it has.
  void rethrow() const;

 private:
  const ByteSource& file_;
  std::uint64_t offset_ = 0;
  std::array<std::uint8_t, 16384> piece_;
  std::exception_ptr error_;
};

inline constexpr const char* kImageAdvice = "get or make it again, or remove it";
[[noreturn]] void refuse_image(const ByteSource& file, const std::string& what, const char* advice = kImageAdvice);
// Throws Error(kBadData) where these are more pixels than an image may have.
void check_image_size(const ByteSource& file, std::int64_t width, std::int64_t height);

// Gives all rows to `resizer`, or with none reads the header only.
void decode_jpeg(const ByteSource& file, SquareResizer* resizer);
void decode_png(const ByteSource& file, SquareResizer* resizer);

}  // namespace eave
