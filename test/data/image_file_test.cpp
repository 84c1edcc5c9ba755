#include "data/images/image_file.h"

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/images/square_resize.h"
#include "test/data/image_writers.h"

namespace eave {
namespace {

Bytes square_of(const Bytes& file, int side) {
  Bytes pixels(static_cast<std::size_t>(side * side * 3));
  check_image_header(MemorySource(file, "some.image"));
  read_image_square(MemorySource(file, "some.image"), side, pixels);
  return pixels;
}

Refusal refusal_of_image(const Bytes& file) {
  Bytes pixels(8 * 8 * 3);
  return refusal_of([&] { read_image_square(MemorySource(file, "folder/some.image"), 8, pixels); });
}

Refusal refusal_of_header(const Bytes& file) {
  return refusal_of([&] { check_image_header(MemorySource(file, "folder/some.image")); });
}

int largest_difference(const Bytes& one, const Bytes& other) {
  int largest = one.size() == other.size() ? 0 : 256;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    largest = std::max(largest, std::abs(one[i] - other[i]));
  }
  return largest;
}

Bytes resized(const Picture& picture, int side) {
  SquareResizer resizer(side);
  resizer.begin(picture.width, picture.height);
  const std::size_t stride = static_cast<std::size_t>(picture.width) * 3;
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y) {
    resizer.add_row(std::span(picture.bytes).subspan(y * stride, stride));
  }
  Bytes pixels(static_cast<std::size_t>(side * side * 3));
  resizer.finish(pixels);
  return pixels;
}

// The reference of resized(): a value from its definition, in two dimensions at once and in double.
double blended(const Picture& picture, int side, int row, int column, int channel) {
  const double scale = std::min(picture.width, picture.height) / static_cast<double>(side),
               reach = std::max(scale, 1.0);
  const double middle_x = (picture.width - scale * side) / 2 + (column + 0.5) * scale;
  const double middle_y = (picture.height - scale * side) / 2 + (row + 0.5) * scale;
  double sum = 0, weights = 0;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const double weight = std::max(0.0, 1 - std::abs(x + 0.5 - middle_x) / reach) *
                            std::max(0.0, 1 - std::abs(y + 0.5 - middle_y) / reach);
      sum += weight * picture.bytes[static_cast<std::size_t>((y * picture.width + x) * 3 + channel)];
      weights += weight;
    }
  }
  return sum / weights;
}

Picture noise(int width, int height) {
  Picture picture{width, height, 3, Bytes(static_cast<std::size_t>(width * height * 3))};
  std::uint32_t state = 1;
  for (std::uint8_t& byte : picture.bytes)
    byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return picture;
}

TEST(SquareResize, is_a_triangle_of_weights_over_the_centred_square) {
  for (const auto& [width, height, side] : {std::array{9, 9, 9}, std::array{24, 10, 5}, std::array{10, 31, 4},
                                            std::array{5, 4, 11}, std::array{64, 48, 7}, std::array{1, 6, 3}}) {
    const Picture picture = noise(width, height);
    const Bytes found = resized(picture, side);
    for (int i = 0; i < side * side * 3; ++i) {
      // Weights have 14 bits, and the result is rounded to a byte.
      EXPECT_NEAR(found[static_cast<std::size_t>(i)], blended(picture, side, i / 3 / side, i / 3 % side, i % 3), 0.6)
          << width << " x " << height << " to " << side << ", byte " << i;
    }
  }
}

TEST(SquareResize, weighs_four_columns_for_two_as_by_hand) {
  Picture picture{4, 4, 3, {}};
  for (int i = 0; i < 16; ++i) picture.bytes.insert(picture.bytes.end(), 3, static_cast<std::uint8_t>(80 * (i % 4)));
  const Bytes found = resized(picture, 2);
  EXPECT_EQ(found[0], 57);   // 3/7 of 0, 3/7 of 80, 1/7 of 160
  EXPECT_EQ(found[3], 183);  // 1/7 of 80, 3/7 of 160, 3/7 of 240
}

TEST(SquareResize, leaves_one_colour_as_it_is) {
  for (const int side : {1, 3, 32, 200}) {
    for (const std::uint8_t value : {0, 1, 127, 255}) {
      const Picture picture{123, 77, 3, Bytes(123 * 77 * 3, value)};
      EXPECT_EQ(resized(picture, side), Bytes(static_cast<std::size_t>(side * side * 3), value));
    }
  }
}

TEST(PngImage, of_its_own_size_keeps_every_byte) {
  const Picture picture = noise(16, 16);
  EXPECT_EQ(square_of(png_of(picture), 16), picture.bytes);
  EXPECT_EQ(square_of(png_of(16, 16, PNG_COLOR_TYPE_RGB, 8, true, picture.bytes), 16), picture.bytes);
}

TEST(PngImage, of_every_kind_becomes_red_green_and_blue) {
  constexpr int kSide = 16;
  const auto value_at = [](int i) { return i * 7 % 256; };
  for (const auto& [colours, channels] : {std::pair{PNG_COLOR_TYPE_GRAY, 1}, std::pair{PNG_COLOR_TYPE_PALETTE, 1},
                                          std::pair{PNG_COLOR_TYPE_GRAY_ALPHA, 2}, std::pair{PNG_COLOR_TYPE_RGB, 3},
                                          std::pair{PNG_COLOR_TYPE_RGB_ALPHA, 4}}) {
    for (const int bits : {1, 2, 4, 8, 16}) {
      if (bits < 8 && channels > 1) continue;
      if (bits == 16 && colours == PNG_COLOR_TYPE_PALETTE) continue;
      Bytes rows, expected;
      const int most = (1 << std::min(bits, 8)) - 1;
      for (int pixel = 0; pixel < kSide * kSide; ++pixel) {
        for (int channel = 0; channel < channels; ++channel) {
          const int value = value_at(pixel + 50 * channel) & most, per_byte = std::max(1, 8 / bits);
          if (pixel % per_byte == 0) rows.push_back(0);
          rows.back() =
              static_cast<std::uint8_t>(rows.back() | value << (8 - std::min(bits, 8)) >> pixel % per_byte * bits);
          if (bits == 16) rows.push_back(rows.back());  // the same byte twice: 257 times its value
        }
        for (int colour = 0; colour < 3; ++colour) {
          const int value = value_at(pixel + (channels > 2 ? 50 * colour : 0)) & most;
          const int of_palette = colour == 0 ? value : colour == 1 ? 255 - value : 7;
          expected.push_back(
              static_cast<std::uint8_t>(colours == PNG_COLOR_TYPE_PALETTE ? of_palette : value * 255 / most));
        }
      }
      for (const bool is_interlaced : {false, true}) {
        EXPECT_EQ(square_of(png_of(kSide, kSide, colours, bits, is_interlaced, rows), kSide), expected)
            << "colours " << colours << ", " << bits << " bits, interlaced " << is_interlaced;
      }
    }
  }
}

TEST(JpegImage, is_what_a_png_of_the_same_picture_is) {
  for (const auto& [width, height, side] :
       {std::array{40, 40, 40}, std::array{90, 60, 24}, std::array{300, 420, 32}, std::array{641, 333, 32}}) {
    for (const int channels : {1, 3}) {
      const Picture picture = gradients(width, height, channels);
      const Bytes expected = square_of(png_of(picture), side);
      for (const JpegKind kind : {JpegKind::kBaseline, JpegKind::kProgressive}) {
        // Smooth pictures lose almost nothing at this quality. A shift by a whole pixel would exceed the bound.
        EXPECT_LE(largest_difference(square_of(jpeg_of(picture, kind), side), expected), 6)
            << width << " x " << height << " x " << channels << " to " << side;
      }
    }
  }
}

// Squares of 6 pixels in two colours: a shift by a part of a pixel shows.
Picture checkers(int width, int height) {
  Picture picture{width, height, 3, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) picture.bytes.insert(picture.bytes.end(), 3, (x / 6 + y / 6) % 2 == 0 ? 40 : 220);
  }
  return picture;
}

double mean_difference(const Bytes& one, const Bytes& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += std::abs(one[i] - other[i]);
  return sum / static_cast<double>(one.size());
}

// A decoder at 1/4 or 1/8 of the size rounds sides up that are no multiples of 4 or 8. 376 x 376 is one, and differs by
// what scaling in the decoder costs.
TEST(JpegImage, of_any_sides_is_as_close_to_a_png_as_one_of_whole_blocks) {
  for (const auto& [width, height, side] :
       {std::array{376, 376, 64}, std::array{375, 375, 64}, std::array{257, 257, 32}, std::array{500, 375, 64}}) {
    const Picture picture = checkers(width, height);
    const Bytes expected = square_of(png_of(picture), side);
    const Bytes found = square_of(jpeg_of(picture, JpegKind::kBaseline, 100), side);
    EXPECT_LE(mean_difference(found, expected), 3) << width << " x " << height << " to " << side;
  }
}

TEST(JpegImage, of_inks_becomes_red_green_and_blue) {
  Picture picture{16, 16, 4, {}};
  // libjpeg writes Adobe's marker. In files with it, 255 means no ink.
  for (int i = 0; i < 16 * 16; ++i) picture.bytes = picture.bytes + Bytes{200, 100, 50, 128};
  Bytes file = jpeg_of(picture);
  const auto colours_of = [](const Bytes& square) { return Bytes(square.begin(), square.begin() + 3); };
  EXPECT_LE(largest_difference(colours_of(square_of(file, 8)), {100, 50, 25}), 2);
  const std::string marker = "Adobe";
  const auto found = std::search(file.begin(), file.end(), marker.begin(), marker.end());
  ASSERT_NE(found, file.end());
  *found = 'a';
  EXPECT_LE(largest_difference(colours_of(square_of(file, 8)), {27, 77, 102}), 2);
}

TEST(JpegImage, without_the_mark_at_its_end_is_taken) {
  const Bytes file = jpeg_of(gradients(40, 30));
  EXPECT_EQ(square_of(first(file, file.size() - 2), 16), square_of(file, 16));
}

// The data before the second header suffice for all rows.
TEST(JpegImage, with_another_header_within_its_data_is_damaged) {
  Bytes file = jpeg_of(gradients(16, 16));
  const std::size_t middle = file.size() - 2;
  const Bytes doubled(file.begin() + 2, file.begin() + static_cast<std::ptrdiff_t>(middle));
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(middle), doubled.begin(), doubled.end());
  const Refusal found = refusal_of_image(file);
  EXPECT_TRUE(found.names("damaged")) << found;
}

TEST(Images, truncated_anywhere_are_refused_by_name) {
  const Picture picture = noise(50, 40);
  for (const Bytes& file : {jpeg_of(picture), jpeg_of(picture, JpegKind::kProgressive), png_of(picture),
                            png_of(50, 40, PNG_COLOR_TYPE_RGB, 8, true, picture.bytes)}) {
    ASSERT_EQ(refusal_of_image(file).code, ExitCode::kDone);
    for (std::size_t size = 0; size + 16 < file.size(); size += 1 + size / 30) {
      expect_refusal(refusal_of_image(first(file, size)), ExitCode::kBadData, {"folder/some.image"});
    }
  }
}

TEST(Images, with_a_changed_byte_are_taken_or_refused) {
  const Picture picture = noise(40, 40);
  for (const Bytes& file : {jpeg_of(picture), jpeg_of(picture, JpegKind::kProgressive), png_of(picture)}) {
    int refused = 0;
    for (std::size_t place = 0; place < file.size(); place += 7) {
      const Refusal found = refusal_of_image(with(file, place, file[place] ^ 0x55));
      EXPECT_TRUE(found.code == ExitCode::kDone || found.code == ExitCode::kBadData) << found;
      refused += found.code == ExitCode::kBadData;
    }
    EXPECT_GT(refused, 10);
  }
}

TEST(Images, that_are_none_are_refused_by_their_header) {
  EXPECT_TRUE(refusal_of_header({}).names("the file is empty")) << refusal_of_header({});
  expect_refusal(refusal_of_header({'G', 'I', 'F', '8', '9', 'a', 0, 1, 2}), ExitCode::kBadData,
                 {"folder/some.image", "a GIF image; convert it to JPEG or PNG"});
  const std::string page = "<html><body>429 Too Many Requests";
  EXPECT_TRUE(refusal_of_header({page.begin(), page.end()}).names("it is an HTML page: perhaps an error")) << page;
  EXPECT_TRUE(refusal_of_header({1, 2, 3}).names("it begins with 01 02 03, as neither"))
      << refusal_of_header({1, 2, 3});
  for (const Bytes& file : {jpeg_of(gradients(20, 20)), png_of(gradients(20, 20))}) {
    EXPECT_EQ(refusal_of_header(first(file, 20)).code, ExitCode::kBadData);
  }
}

std::size_t place_of_size(const Bytes& jpeg) {
  for (std::size_t i = 0; i + 1 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) return i + 5;
  }
  return 0;
}

// The file's pixels beyond the picture, up to whole blocks, may be anything.
TEST(JpegImage, is_free_of_what_fills_its_last_blocks) {
  Picture white{264, 264, 3, Bytes(std::size_t{264} * 264 * 3, 255)};
  for (std::size_t y = 0; y < 264; ++y) {
    for (std::size_t x = 0; x < 264; ++x) {
      if (x >= 257 || y >= 257) std::fill_n(white.bytes.begin() + static_cast<std::ptrdiff_t>((y * 264 + x) * 3), 3, 0);
    }
  }
  const Bytes file = jpeg_of(white, JpegKind::kBaseline, 100);
  const std::size_t place = place_of_size(file);
  ASSERT_GT(place, 0u);
  const Bytes cut = with(with(file, place + 1, 1), place + 3, 1);  // 257 is 0x101
  for (const std::uint8_t byte : square_of(cut, 16)) EXPECT_GE(byte, 250);
}

TEST(Images, that_promise_more_than_they_hold_are_refused_by_their_header) {
  const Bytes jpeg = jpeg_of(gradients(20, 20));
  const std::size_t place = place_of_size(jpeg);
  ASSERT_GT(place, 0u);
  const Refusal large = refusal_of_header(with(with(jpeg, place, 0xf0), place + 2, 0xf0));
  expect_refusal(large, ExitCode::kBadData, {"at most 67108864"});
  const Refusal hollow = refusal_of_header(with(with(jpeg, place, 0x1f), place + 2, 0x1f));
  expect_refusal(hollow, ExitCode::kBadData, {"can hold"});
  // libpng refuses a header whose checksum is wrong. So libpng writes a real file of 60000 x 1 pixels, which is then
  // cut.
  const Bytes empty(60000 * 3);
  const Bytes flat = png_of(60000, 1, PNG_COLOR_TYPE_RGB, 8, false, empty);
  EXPECT_EQ(refusal_of_header(flat).code, ExitCode::kDone);
  EXPECT_TRUE(refusal_of_header(first(flat, 60)).names("can hold")) << refusal_of_header(first(flat, 60));
}

TEST(JpegImage, of_more_scans_than_any_program_writes_is_refused) {
  const Refusal found = refusal_of_image(jpeg_of(gradients(64, 64), JpegKind::kManyScans));
  expect_refusal(found, ExitCode::kBadData, {"100 scans"});
}

TEST(JpegImage, of_a_kind_that_is_not_decoded_is_not_called_damaged) {
  const Bytes file = jpeg_of(gradients(20, 10));
  const Bytes begin_of_frame = {0xff, 0xc0, 0, 17};
  const auto frame = std::ranges::search(file, begin_of_frame).begin() - file.begin();
  ASSERT_LT(static_cast<std::size_t>(frame), file.size());
  const auto at = static_cast<std::size_t>(frame);
  // 12 bits per value; lossless JPEG.
  for (const Bytes& other : {with(file, at + 4, 12), with(file, at + 1, 0xc3)}) {
    const Refusal found = refusal_of_image(other);
    expect_refusal(found, ExitCode::kBadData, {"libjpeg does not decode", "convert it"});
    EXPECT_FALSE(found.names("damaged")) << found;
  }
}

}  // namespace
}  // namespace eave
