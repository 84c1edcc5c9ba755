// Decodes PNG files with libpng: `decode_png` of data/images/image_file.h.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "base/options/number_text.h"
#include "data/images/image_file.h"
#include "eave/check.h"

namespace eave {
namespace {

// One byte of deflate data yields at most this many (zlib's documentation).
constexpr std::uint64_t kMostUnpacked = 1032;

// libpng reports errors by longjmp. So functions that it may leave have no local objects with destructors.
class PngDecoder {
 public:
  explicit PngDecoder(const ByteSource& file) : file_(file), pieces_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, [](png_structp, png_const_charp) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ != nullptr) return;
    png_destroy_read_struct(&png_, nullptr, nullptr);
    throw Error(ExitCode::kResource, "libpng cannot start: no memory, or not the version that eave was built with");
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  void read_header() {
    if (!try_header()) refuse();
    const std::int64_t width = png_get_image_width(png_, info_), height = png_get_image_height(png_, info_);
    check_image_size(file_, width, height);
    check_file_size(file_, width, height,
                    png_get_rowbytes(png_, info_) * static_cast<std::uint64_t>(height) / kMostUnpacked);
    width_ = static_cast<std::size_t>(width);
    height_ = static_cast<std::size_t>(height);
  }

  void read_rows(SquareResizer& resizer) {
    if (!try_start()) refuse();
    if (png_get_rowbytes(png_, info_) != 3 * width_) refuse_image(file_, "its PNG colour type is unknown");
    resizer.begin(static_cast<double>(width_), static_cast<double>(height_));
    // Each pass of an interlaced image leaves holes that later passes fill.
    pixels_.resize(3 * width_ * (passes_ == 1 ? 1 : height_));
    for (int pass = 1; pass < passes_; ++pass) {
      for (std::size_t number = 0; number < height_; ++number) read_row(number);
    }
    for (std::size_t number = 0; number < height_; ++number) resizer.add_row(read_row(number));
    if (!try_end()) refuse();
  }

 private:
  std::span<const std::uint8_t> read_row(std::size_t number) {
    const auto row = std::span(pixels_).subspan(passes_ == 1 ? 0 : 3 * width_ * number, 3 * width_);
    if (!try_row(row.data())) refuse();
    return row;
  }

  [[noreturn]] static void fail(png_structp png, png_const_charp message) {
    auto& decoder = *static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::strncpy(decoder.message_, message, sizeof decoder.message_ - 1);
    std::longjmp(decoder.jump_, 1);
  }

  void read(png_bytep bytes, std::size_t count) {
    while (count > 0) {
      if (piece_.empty()) piece_ = pieces_.next();
      if (piece_.empty()) {
        ends_early_ = true;
        png_error(png_, "the file ends");
      }
      const std::size_t here = std::min(count, piece_.size());
      std::memcpy(bytes, piece_.data(), here);
      piece_ = piece_.subspan(here);
      bytes += here;
      count -= here;
    }
  }

  bool try_header() {
    if (setjmp(jump_) != 0) return false;
    png_set_read_fn(png_, this, [](png_structp png, png_bytep bytes, std::size_t count) {
      static_cast<PngDecoder*>(png_get_io_ptr(png))->read(bytes, count);
    });
    png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);                       // eave has its own limits
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // skip profiles, texts and other chunks
    png_read_info(png_, info_);
    return true;
  }

  bool try_start() {
    if (setjmp(jump_) != 0) return false;
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool try_row(std::uint8_t* row) {
    if (setjmp(jump_) != 0) return false;
    png_read_row(png_, row, nullptr);
    return true;
  }

  bool try_end() {
    if (setjmp(jump_) != 0) return false;
    png_read_end(png_, nullptr);
    return true;
  }

  [[noreturn]] void refuse() {
    pieces_.rethrow();
    if (ends_early_) refuse_image(file_, "it is truncated at " + count_text(file_.size(), "byte"));
    refuse_image(file_, std::string("damaged (") + message_ + ")");
  }

  const ByteSource& file_;
  FilePieces pieces_;
  std::span<const std::uint8_t> piece_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_;
  char message_[128] = "";
  std::size_t width_ = 0, height_ = 0;
  int passes_ = 1;
  bool ends_early_ = false;
  std::vector<std::uint8_t> pixels_;  // one row; all rows of an interlaced image
};

}  // namespace

void decode_png(const ByteSource& file, SquareResizer* resizer) {
  PngDecoder decoder(file);
  decoder.read_header();
  if (resizer != nullptr) decoder.read_rows(*resizer);
}

}  // namespace eave
