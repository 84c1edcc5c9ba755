#include "data/images/image_file.h"

#include <algorithm>
#include <cstdio>

#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr std::array<std::uint8_t, 3> kJpegBegin = {0xff, 0xd8, 0xff};
constexpr std::array<std::uint8_t, 8> kPngBegin = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

// Refuses a file that is neither JPEG nor PNG.
[[noreturn]] void refuse_image_kind(const ByteSource& file) {
  std::array<std::uint8_t, kContentBytes> begin{};
  const std::size_t count = file.read_at(0, begin);
  const ContentKind kind = content_kind_of(file, ContentGroup::kImage);
  if (count == 0) refuse_image(file, "the file is empty");
  if (kind.group == ContentGroup::kImage)
    refuse_image(file, "it is " + kind.what, "convert it to JPEG or PNG, or remove it");
  if (!kind.what.empty()) refuse_image(file, describe_content(kind));
  std::string bytes;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 8); ++i) {
    std::array<char, 4> text{};
    std::snprintf(text.data(), text.size(), " %02x", begin[i]);
    bytes += text.data();
  }
  refuse_image(file, "it begins with" + bytes + ", as neither a JPEG nor a PNG does");
}

void decode_image(const ByteSource& file, SquareResizer* resizer) {
  std::array<std::uint8_t, 8> begin{};
  const std::size_t count = file.read_at(0, begin);
  const auto is = [&](const auto& magic) {
    return count >= magic.size() && std::equal(magic.begin(), magic.end(), begin.begin());
  };
  if (is(kJpegBegin)) return decode_jpeg(file, resizer);
  if (is(kPngBegin)) return decode_png(file, resizer);
  refuse_image_kind(file);
}

}  // namespace

std::span<const std::uint8_t> FilePieces::next() noexcept {
  try {
    const std::size_t count = file_.read_at(offset_, piece_);
    offset_ += count;
    return std::span(piece_).first(count);
  } catch (...) {
    error_ = std::current_exception();
    return {};
  }
}

void FilePieces::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

void refuse_image(const ByteSource& file, const std::string& what, const char* advice) {
  throw Error(ExitCode::kBadData, "the image " + file.name() + " cannot be read: " + what + "; " + advice);
}

void check_image_size(const ByteSource& file, std::int64_t width, std::int64_t height) {
  if (width > 0 && height > 0 && width <= kLongestSideOfImage && height <= kLongestSideOfImage &&
      width * height <= kMostPixels) {
    return;
  }
  refuse_image(file, "it says that it is of " + std::to_string(width) + " x " + std::to_string(height) +
                         " pixels, expected at most " + std::to_string(kMostPixels) + " and " +
                         std::to_string(kLongestSideOfImage) + " each way");
}

void check_file_size(const ByteSource& file, std::int64_t width, std::int64_t height, std::uint64_t least_bytes) {
  if (least_bytes <= file.size()) return;
  refuse_image(file, "it says that it is of " + std::to_string(width) + " x " + std::to_string(height) +
                         " pixels, more than a file of " + count_text(file.size(), "byte") + " can hold");
}

void check_image_header(const ByteSource& file) { decode_image(file, nullptr); }

void read_image_square(const ByteSource& file, int side, std::span<std::uint8_t> pixels) {
  SquareResizer resizer(side);
  decode_image(file, &resizer);
  resizer.finish(pixels);
}

}  // namespace eave
