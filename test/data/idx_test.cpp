// The parser of IDX files, on damaged and hostile bytes in memory.
#include "data/files/idx.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "data/files/byte_source.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

IdxArray parse(const Bytes& bytes, IdxContent content) { return read_idx(MemorySource(bytes, "some-file"), content); }

Refusal refusal(const Bytes& bytes, IdxContent content) {
  return refusal_of([&] { parse(bytes, content); });
}

const Bytes kImages = idx_file({3, 4, 5}, {7, 8, 9, 250, 0, 1});
const Bytes kLabels = idx_file({12}, {0, 1, 2});

TEST(ReadIdx, returns_what_was_written_plain_or_packed) {
  for (const Bytes& bytes : {kImages, gzip(kImages)}) {
    const IdxArray array = parse(bytes, IdxContent::kImages);
    EXPECT_EQ(array.dimensions, (std::vector<std::int64_t>{3, 4, 5}));
    EXPECT_EQ(array.values, Bytes(kImages.begin() + 16, kImages.end()));
  }
  EXPECT_EQ(parse(gzip(kLabels), IdxContent::kLabels).dimensions, std::vector<std::int64_t>{12});
}

TEST(ReadIdx, refuses_every_truncation_of_a_plain_file) {
  for (std::size_t length = 0; length < kImages.size(); ++length) {
    const Refusal found = refusal(first(kImages, length), IdxContent::kImages);
    ASSERT_EQ(found.code, ExitCode::kBadData) << length << " bytes: " << found;
    ASSERT_TRUE(found.names("some-file")) << found;
  }
}

TEST(ReadIdx, refuses_every_truncation_of_a_packed_file) {
  const Bytes packed = gzip(kImages);
  for (std::size_t length = 0; length < packed.size(); ++length) {
    ASSERT_EQ(refusal(first(packed, length), IdxContent::kImages).code, ExitCode::kBadData) << length << " bytes";
  }
}

TEST(ReadIdx, refuses_every_packed_file_whose_content_is_truncated) {
  for (std::size_t length = 0; length < kImages.size(); ++length) {
    ASSERT_EQ(refusal(gzip(first(kImages, length)), IdxContent::kImages).code, ExitCode::kBadData) << length;
  }
}

// About 75 bits of a gzip file have no meaning: its date, hints of the packer, and the padding of the stream's last
// byte.
TEST(ReadIdx, notices_every_flipped_bit_of_a_packed_file_that_has_a_meaning) {
  const Bytes packed = gzip(kImages);
  std::size_t harmless = 0;
  for (std::size_t bit = 0; bit < 8 * packed.size(); ++bit) {
    const std::size_t at = bit / 8;
    const Bytes changed = with(packed, at, static_cast<std::uint8_t>(packed[at] ^ (1 << bit % 8)));
    const Refusal found = refusal(changed, IdxContent::kImages);
    if (found.code == ExitCode::kBadData) continue;
    ASSERT_EQ(found.code, ExitCode::kDone) << found;
    ASSERT_EQ(parse(changed, IdxContent::kImages).values, Bytes(kImages.begin() + 16, kImages.end())) << "bit " << bit;
    ++harmless;
  }
  EXPECT_LT(harmless, 76u);
}

TEST(ReadIdx, notices_every_flipped_bit_of_a_header) {
  for (std::size_t bit = 0; bit < 8 * 16; ++bit) {
    const std::size_t at = bit / 8;
    const Bytes changed = with(kImages, at, static_cast<std::uint8_t>(kImages[at] ^ (1 << bit % 8)));
    ASSERT_EQ(refusal(changed, IdxContent::kImages).code, ExitCode::kBadData) << "bit " << bit;
  }
}

TEST(ReadIdx, stops_where_the_content_of_a_bomb_goes_beyond_what_it_declares) {
  Bytes content = first(kImages, 16);
  content.resize(100 << 20);
  expect_refusal(refusal(gzip(content), IdxContent::kImages), ExitCode::kBadData,
                 {"some-file: ", "holds more than its header declares"});
}

// Programs such as pigz, bgzip and cat write several members, and tapes pad files with zeros.
TEST(ReadIdx, takes_gzip_data_of_several_members_and_with_zeros_behind_them) {
  const Bytes values(kImages.begin() + 16, kImages.end());
  for (std::size_t cut = 0; cut <= kImages.size(); ++cut) {
    const Bytes one = gzip(first(kImages, cut)), other = gzip(Bytes(kImages.begin() + cut, kImages.end()));
    for (const Bytes& packed : {one + other, one + other + Bytes(1000, 0), one + Bytes(512, 0) + other,
                                one + gzip({}) + other + gzip({}) + Bytes{0}}) {
      ASSERT_EQ(refusal(packed, IdxContent::kImages).code, ExitCode::kDone) << refusal(packed, IdxContent::kImages);
      ASSERT_EQ(parse(packed, IdxContent::kImages).values, values);
    }
  }
}

// Noise does not compress, so the file is long enough for the length that its header declares. But it holds only a
// small part of it: 4 MiB of 1 GB.
TEST(ReadIdx, takes_memory_for_what_it_has_read_and_not_for_what_a_header_promises) {
  Bytes content = idx_file({1000, 1000, 1000}, {1});
  content.resize(4 << 20);
  std::uint32_t state = 1;
  for (std::size_t i = 16; i < content.size(); ++i)
    content[i] = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  const Bytes packed = gzip(content);
  const auto peak = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  const long before = peak();
  const Refusal found = refusal(packed, IdxContent::kImages);
  EXPECT_TRUE(found.names("truncated")) << found;
  EXPECT_LT(peak() - before, 64 << 10);
}

struct Bad {
  std::string name;
  Bytes bytes;
  IdxContent content;
  std::vector<std::string> words;  // that the message must hold
};

Bytes text(const std::string& words) { return {words.begin(), words.end()}; }

std::vector<Bad> bad_files() {
  const auto images = IdxContent::kImages, labels = IdxContent::kLabels;
  const Bytes nothing(4, 0);
  return {
      {"empty", {}, images, {"is empty"}},
      {"all_zero", Bytes(1000, 0), images, {"is a file that begins with zeros", "get the file again"}},
      {"text", Bytes(100, 'x'), images, {"is text that begins with 'xxx", "get the IDX file"}},
      {"png", Bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'} + Bytes(100, 1), images, {"is a PNG image"}},
      {"page", text("<!DOCTYPE html><html>"), images, {"is an HTML page", "get the file again"}},
      {"packed_page", gzip(text("<!DOCTYPE html><html>")), labels, {"is a gzip file that holds an HTML page"}},
      {"pointer", text("version https://git-lfs.github.com/spec/v1\n"), images, {"git-lfs pointer", "git lfs pull"}},
      {"xz", Bytes{0xfd, '7', 'z', 'X', 'Z', 0, 0, 4}, images, {"is an xz file", "xz -d"}},
      {"zstd", Bytes{0x28, 0xb5, 0x2f, 0xfd, 4}, images, {"is a zstd file", "zstd -d"}},
      {"packed_tar", gzip(Bytes(257, 'a') + text("ustar")), images, {"holds a tar archive", "tar -xzf"}},
      {"packed_image",
       gzip(Bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}),
       images,
       {"holds a PNG image: get the IDX"}},
      {"packed_xz", gzip(Bytes{0xfd, '7', 'z', 'X', 'Z', 0, 0, 4}), images, {"with gunzip, then with xz -d"}},
      {"packed_unknown", gzip(Bytes{1, 2, 3, 4, 5}), images, {"holds no IDX file", "0x01020304", "get the file again"}},
      {"pickle", Bytes{0x80, 2, '}', 'q'}, images, {"is a pickle of Python"}},
      {"unknown", Bytes{1, 2, 3, 4, 5}, images, {"not an IDX file", "0x01020304", "expected 0x00000803"}},
      {"little_endian", Bytes{3, 8, 0, 0} + Bytes(100, 1), images, {"not an IDX file", "0x03080000"}},
      {"floats", with(kImages, 2, 0x0d), images, {"not unsigned bytes", "0x00000d03"}},
      {"signed_bytes", with(kImages, 2, 0x09), images, {"not unsigned bytes", "0x00000903"}},
      {"labels_for_images", kLabels, images, {"holds labels where images belong", "swapped"}},
      {"images_for_labels", kImages, labels, {"holds images where labels belong", "swapped"}},
      {"no_dimensions", with(kImages, 3, 0), images, {"has 0 dimensions"}},
      {"four_dimensions", idx_header({1, 1, 1, 1}) + Bytes{1}, images, {"has 4 dimensions"}},
      {"nine_dimensions",
       idx_header({1, 1, 1, 1, 1, 1, 1, 1, 1}) + Bytes{1},
       images,
       {"has 9 dimensions", "more than 8"}},
      {"255_dimensions", with(kImages, 3, 255), images, {"has 255 dimensions", "more than 8"}},
      {"no_images", idx_header({0, 4, 5}), images, {"dimension 0 at offset 4 is 0"}},
      {"no_rows", idx_header({3, 0, 5}), images, {"dimension 1 at offset 8 is 0"}},
      {"no_columns", idx_header({3, 4, 0}), images, {"dimension 2 at offset 12 is 0"}},
      {"product_beyond_64_bits", idx_header({0xffffffff, 0xffffffff, 0xffffffff}) + nothing, images, {"4294967295 x "}},
      {"product_that_wraps_to_0", idx_header({1u << 31, 1u << 31, 4}) + nothing, images, {"more than 64 bits"}},
      {"product_that_wraps_to_the_size", idx_header({1u << 31, 1u << 31, 5}) + nothing, images, {"more than 64 bits"}},
      {"petabytes",
       idx_header({1u << 20, 1u << 20, 1u << 10}) + nothing,
       images,
       {"20 bytes long", "1125899906842640"}},
      {"petabytes_packed", gzip(idx_header({1u << 20, 1u << 20, 1u << 10}) + nothing), images, {"can hold"}},
      {"gigabytes_packed", gzip(idx_header({1000, 1000, 1000}) + nothing), images, {"1000000000 bytes", "can hold"}},
      {"too_long", kImages + Bytes{0}, images, {"is 77 bytes long", "declares 76 bytes", "behind its values"}},
      {"too_short", first(kImages, 75), images, {"is 75 bytes long", "declares 76 bytes", "truncated"}},
      {"twice", kImages + kImages, images, {"is 152 bytes long", "declares 76 bytes"}},
      {"packed_too_long", gzip(kImages + Bytes{0}), images, {"holds more than its header declares"}},
      {"packed_too_short", gzip(first(kImages, 75)), images, {"offset 75 of its content", "truncated"}},
      {"bytes_behind_the_stream",
       gzip(kImages) + Bytes{0, 0, 7},
       images,
       {"neither gzip data nor zeros", "at offset " + std::to_string(gzip(kImages).size() + 2) + " of the compressed"}},
      {"two_streams", gzip(kImages) + gzip(kImages), images, {"holds more than its header declares"}},
      {"half_a_stream_behind", gzip(kImages) + Bytes{0x1f, 0x8b, 8}, images, {"cut off"}},
      {"wrong_checksum",
       with(gzip(kImages), gzip(kImages).size() - 8, 0x55),
       images,
       {"damaged", "incorrect data check"}},
      {"packed_twice", gzip(gzip(kImages)), images, {"is a gzip file that holds a gzip file", "gunzip"}},
      {"packed_nothing", gzip({}), images, {"middle of the magic number"}},
      {"only_the_gzip_magic", {0x1f, 0x8b}, images, {"cut off"}},
      {"gzip_of_an_unknown_method", with(gzip(kImages), 2, 7), images, {"damaged", "unknown compression method"}},
  };
}

class BadIdx : public testing::TestWithParam<Bad> {};

// The reader has already unpacked the content, so a hint to run gunzip would not help.
TEST(HostileIdx, is_never_to_be_unpacked_if_its_content_is_at_fault) {
  for (const Bytes& content : {text("<!DOCTYPE html><html>"), Bytes(100, 'x'), Bytes{1, 2, 3, 4, 5},
                               Bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, Bytes{0x80, 2, '}', 'q'}}) {
    const Refusal found = refusal(gzip(content), IdxContent::kImages);
    EXPECT_FALSE(found.names("gunzip")) << found;
  }
}

TEST_P(BadIdx, is_refused_as_bad_data_with_what_was_found) {
  const Refusal found = refusal(GetParam().bytes, GetParam().content);
  EXPECT_TRUE(found.names("some-file: ")) << found;
  expect_refusal(found, ExitCode::kBadData, GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(All, BadIdx, testing::ValuesIn(bad_files()), [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace eave
