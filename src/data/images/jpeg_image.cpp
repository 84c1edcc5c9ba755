// Decodes JPEG files with libjpeg: `decode_jpeg` of data/images/image_file.h.
#include <cstddef>
#include <cstdio>
// jpeglib.h needs the headers above, and jerror.h needs jpeglib.h. The comment lines keep clang-format from sorting
// them.
#include <jpeglib.h>
//
#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <vector>

#include "base/options/number_text.h"
#include "data/images/image_file.h"

namespace eave {
namespace {

// Whether the warning means damage, after which libjpeg goes on with grey. Its other warnings are about harmless
// mistakes of encoders.
bool is_damage(int message) {
  return message == JWRN_HIT_MARKER || message == JWRN_HUFF_BAD_CODE || message == JWRN_ARITH_BAD_CODE ||
         message == JWRN_MUST_RESYNC;
}

// Whether the file may be whole, but in a variant that libjpeg cannot decode: 12 bits, lossless, arithmetic coding.
bool is_unsupported(int message) {
  return message == JERR_BAD_PRECISION || message == JERR_SOF_UNSUPPORTED || message == JERR_ARITH_NOTIMPL ||
         message == JERR_NOT_COMPILED || message == JERR_CONVERSION_NOTIMPL || message == JERR_COMPONENT_COUNT ||
         message == JERR_FRACT_SAMPLE_NOTIMPL || message == JERR_CCIR601_NOTIMPL;
}

// libjpeg reports errors by longjmp. So functions that it may leave have no local objects with destructors.
class JpegDecoder {
 public:
  explicit JpegDecoder(const ByteSource& file) : file_(file), pieces_(file) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) { of(info).fail(); };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0 && is_damage(info->err->msg_code)) of(info).fail();
    };
    errors_.output_message = [](j_common_ptr) {};
    source_.init_source = source_.term_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = [](j_decompress_ptr info) { return of(info).fill(); };
    source_.skip_input_data = [](j_decompress_ptr info, long bytes) { of(info).skip(bytes); };
    source_.resync_to_restart = jpeg_resync_to_restart;
    progress_.progress_monitor = [](j_common_ptr info) { of(info).count_scans(); };
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  void read_header() {
    if (!try_header()) refuse();
    const std::int64_t width = info_.image_width, height = info_.image_height;
    check_image_size(file_, width, height);
    // A block of 64 values takes at least one bit, and stands for at most 1024 pixels.
    check_file_size(file_, width, height, static_cast<std::uint64_t>(width * height) / 8192);
  }

  void read_rows(SquareResizer& resizer) {
    if (!try_start(resizer.side())) refuse();
    const double scale = static_cast<double>(info_.scale_num) / info_.scale_denom;
    resizer.begin(info_.image_width * scale, info_.image_height * scale);
    row_.resize(std::size_t{info_.output_width} * static_cast<std::size_t>(info_.output_components));
    for (JDIMENSION number = 0; number < info_.output_height; ++number) {
      if (!try_row()) refuse();
      if (info_.out_color_space == JCS_CMYK) convert_inks();
      resizer.add_row(std::span(row_).first(std::size_t{3} * info_.output_width));
    }
    if (!try_finish()) refuse();
  }

 private:
  static constexpr int kMostScans = 100;  // a progressive file has about 10

  template <typename Info>
  static JpegDecoder& of(Info info) {
    return *static_cast<JpegDecoder*>(info->client_data);
  }

  [[noreturn]] void fail() { std::longjmp(jump_, 1); }

  boolean fill() {
    static constexpr JOCTET kEnd[2] = {0xff, JPEG_EOI};
    const auto piece = pieces_.next();
    if (piece.empty()) ends_early_ = true;
    source_.next_input_byte = piece.empty() ? kEnd : piece.data();
    source_.bytes_in_buffer = piece.empty() ? sizeof kEnd : piece.size();
    return TRUE;
  }

  void skip(long bytes) {
    if (bytes <= 0) return;
    const std::size_t here = std::min(static_cast<std::size_t>(bytes), source_.bytes_in_buffer);
    source_.next_input_byte += here;
    source_.bytes_in_buffer -= here;
    pieces_.skip(static_cast<std::size_t>(bytes) - here);
  }

  void count_scans() {
    if (info_.input_scan_number <= kMostScans) return;
    too_many_scans_ = true;
    fail();
  }

  bool try_header() {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.src = &source_;
    info_.progress = &progress_;
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  // Starts decoding at 1/2, 1/4 or 1/8 of the size if that leaves at least twice the side for the resizer to average.
  bool try_start(int side) {
    if (setjmp(jump_) != 0) return false;
    const bool is_cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
    info_.scale_num = 1;
    info_.scale_denom = 8;
    while (info_.scale_denom > 1 &&
           std::min(info_.image_width, info_.image_height) / info_.scale_denom < 2 * static_cast<unsigned>(side)) {
      info_.scale_denom /= 2;
    }
    jpeg_start_decompress(&info_);
    if (ends_early_ && jpeg_has_multiple_scans(&info_)) return false;  // all scans have been read
    return true;
  }

  bool try_row() {
    if (setjmp(jump_) != 0) return false;
    JSAMPROW row = row_.data();
    return jpeg_read_scanlines(&info_, &row, 1) == 1;
  }

  // Looks for the mark at the end. A marker in the middle of the data is damage that the rows need not show.
  bool try_finish() {
    if (setjmp(jump_) != 0) return false;
    return jpeg_finish_decompress(&info_) == TRUE;
  }

  // Adobe's programs write inks inverted, and libjpeg does not undo that.
  void convert_inks() {
    const std::uint8_t flip = info_.saw_Adobe_marker ? 0 : 255;
    for (std::size_t i = 0; i < info_.output_width; ++i) {
      const int black = row_[4 * i + 3] ^ flip;
      for (std::size_t colour = 0; colour < 3; ++colour) {
        row_[3 * i + colour] = static_cast<std::uint8_t>(((row_[4 * i + colour] ^ flip) * black + 127) / 255);
      }
    }
  }

  [[noreturn]] void refuse() {
    pieces_.rethrow();
    if (too_many_scans_) refuse_image(file_, "it has more than " + count_text(kMostScans, "scan"));
    if (ends_early_) refuse_image(file_, "it is truncated at " + count_text(file_.size(), "byte"));
    char text[JMSG_LENGTH_MAX] = "";
    errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), text);
    if (is_unsupported(errors_.msg_code))
      refuse_image(file_, std::string("it is of a kind that libjpeg does not decode (") + text +
                              "): convert it to 8 bits, baseline or progressive");
    refuse_image(file_, std::string("damaged (") + text + ")");
  }

  const ByteSource& file_;
  FilePieces pieces_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_;
  std::vector<std::uint8_t> row_;
  bool ends_early_ = false, too_many_scans_ = false;
};

}  // namespace

void decode_jpeg(const ByteSource& file, SquareResizer* resizer) {
  JpegDecoder decoder(file);
  decoder.read_header();
  if (resizer != nullptr) decoder.read_rows(*resizer);
}

}  // namespace eave
