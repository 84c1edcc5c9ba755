// The decoders of JPEG and PNG, and what they share.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <string>

#include "data/files/byte_source.h"
#include "data/images/square_resize.h"

namespace eave {

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

// Gives all rows to `resizer`. If it is nullptr, reads the header only.
void decode_jpeg(const ByteSource& file, SquareResizer* resizer);
void decode_png(const ByteSource& file, SquareResizer* resizer);

}  // namespace eave
