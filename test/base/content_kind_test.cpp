// A file's kind is recognised by its first bytes, whatever its name says.
#include "base/files/content_kind.h"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "base/formats/safetensors.h"
#include "eave/check.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

using namespace std::string_literals;

ContentKind kind_of(const std::string& bytes) {
  return content_kind({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

struct Sample {
  std::string bytes, what, remedy;
  ContentGroup group;
};

// The first bytes of each kind of file, as the programs that make such files write them.
std::vector<Sample> samples() {
  using enum ContentGroup;
  std::string bitmap = "BM"s + std::string(12, '\1') + "\x28\0\0\0"s + std::string(20, '\0');
  std::string tar = std::string(257, 'a') + "ustar\0"s;
  std::string torch = "PK\x03\x04"s + std::string(22, '\0') + "\x10\0\0\0"s + "archive/data.pkl"s;
  std::string zipped = "PK\x03\x04"s + std::string(22, '\0') + "\x05\0\0\0"s + "a.txt"s;
  std::string arrays = "PK\x03\x04"s + std::string(22, '\0') + "\x05\0\0\0"s + "a.npy"s;
  return {{"<!DOCTYPE html>\n<html>", "an HTML page", "get the file again", kWebPage},
          {"\xef\xbb\xbf  \n<HTML><head>", "an HTML page", "get the file again", kWebPage},
          {"<?xml version=\"1.0\"?><Error><Code>AccessDenied", "an XML document", "get the file again", kWebPage},
          {"{\"message\": \"Not Found\"}", "a JSON document", "get the file again", kWebPage},
          {"<?xml version=\"1.0\"?>\n<svg xmlns=", "an SVG drawing", "", kImage},
          {"version https://git-lfs.github.com/spec/v1\noid sha256:", "a git-lfs pointer", "git lfs pull", kPointer},
          {"/annex/objects/SHA256E-s1--0.jpg", "a git-annex pointer", "git annex get", kPointer},
          {"RIFF\x10\0\0\0WEBPVP8 "s, "a WebP image", "", kImage},
          {"GIF89a\1\0"s, "a GIF image", "", kImage},
          {bitmap, "a BMP image", "", kImage},
          {"II*\0\x08\0\0\0"s, "a TIFF image", "", kImage},
          {"MM\0*\0\0\0\x08"s, "a TIFF image", "", kImage},
          {"\0\0\0\x18"s + "ftypheic\0\0\0\0"s, "a HEIC image", "", kImage},
          {"\0\0\0\x1c"s + "ftypavif\0\0\0\0"s, "an AVIF image", "", kImage},
          {"\0\0\0\x18"s + "ftypmp42\0\0\0\0"s, "an MP4 or QuickTime video", "", kOther},
          {"P6\n12 12\n255\n", "a netpbm image", "", kImage},
          {"%PDF-1.7\n", "a PDF document", "", kOther},
          {zipped, "a ZIP archive", "unzip", kPacked},
          {torch, "torch.save", "", kPytorch},
          {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s, "torch.save", "", kPytorch},
          {"\x80\x02}q\x01(U\x0b"
           "batch_label"s,
           "a pickle of Python", "", kPickle},
          {"(dp1\nS'data'\n", "a pickle of Python", "", kPickle},
          {arrays, "NumPy arrays (.npz)", "", kOther},
          {"\x93NUMPY\1\0"s, "an array of NumPy (.npy)", "", kOther},
          {"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\2"s, "a model of SentencePiece", "", kOther},
          {"IQ== 0\nIg== 1\n", "a vocabulary of tiktoken", "", kOther},
          {"\x1f\x8b\x08\0"s, "a gzip file", "gunzip", kPacked},
          {"\xfd\x37zXZ\0\0\4"s, "an xz file", "xz -d", kPacked},
          {"\x28\xb5\x2f\xfd\4"s, "a zstd file", "zstd -d", kPacked},
          {"BZh91AY&SY", "a bzip2 file", "bunzip2", kPacked},
          {tar, "a tar archive", "tar -xf", kPacked},
          {"\x7f"
           "ELF\2\1\1"s,
           kElfContent, "", kOther},
          {"\x40\0\0\0\0\0\0\0{\"a\":"s, kSafetensorsContent, "", kOther},
          {"\0\0\x08\x03\0\0\0\1"s, "an IDX file", "", kOther},
          {std::string(100, '\0'), "begins with zeros", "get the file again", kOther},
          {"404: Not Found\n", "text that begins with '404: Not Found'", "", kText},
          {"\x1b[31mred", "", "", kUnknown},
          {"caf\xc3\xa9 au lait", "text that begins with 'caf?? au lait'", "", kText},
          {"\xff\xfeh\0i\0"s, "text in UTF-16", "", kText},
          {"\xff\xfe\0\0h\0\0\0"s, "text in UTF-32", "", kText},
          {"\0\0\xfe\xff\0\0\0h"s, "text in UTF-32", "", kText},
          {"", "an empty file", "get the file again", kEmpty},
          {"\x01\x02\x03\x04\x05", "", "", kUnknown}};
}

TEST(ContentKind, is_told_by_the_first_bytes) {
  for (const Sample& sample : samples()) {
    const ContentKind kind = kind_of(sample.bytes);
    EXPECT_EQ(kind.group, sample.group) << sample.what;
    EXPECT_TRUE(says(kind.what, sample.what));
    EXPECT_TRUE(says(kind.remedy, sample.remedy));
    EXPECT_EQ(kind.what.empty(), sample.what.empty()) << kind.what;
  }
}

TEST(ContentKind, is_sure_if_many_bytes_tell_it) {
  for (const char* sure : {"\x93NUMPY\1", "PAR1", "PK\x03\x04", "%PDF-1.7\n"})
    EXPECT_TRUE(kind_of(sure).is_sure) << sure;
  EXPECT_TRUE(kind_of(std::string(64, 'a')).is_sure);
  for (const std::string& other :
       {"BM"s, "\x1f\x8b\x08"s, "\0\0\1\0"s, "\xff\xfeh\0"s, "P6\n12 12\n"s, std::string(63, 'a')})
    EXPECT_FALSE(kind_of(other).is_sure) << other;
}

TEST(ContentKind, of_every_beginning_of_a_sample_is_told_without_reading_behind_it) {
  for (const Sample& sample : samples()) {
    for (std::size_t size = 0; size <= sample.bytes.size(); ++size) {
      const std::vector<std::uint8_t> exact(sample.bytes.begin(),
                                            sample.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      content_kind(exact);  // ASan reports a read past the end
    }
  }
}

TEST(Safetensors, says_what_a_file_is_that_is_none) {
  const TemporaryDirectory directory;
  for (const Sample& sample : samples()) {
    if (sample.what.empty() || sample.what == kSafetensorsContent) continue;
    const std::filesystem::path path = directory.path() / "model.safetensors";
    std::ofstream(path, std::ios::binary) << sample.bytes;
    const Error error = error_of([&] { read_safetensors(path); });
    EXPECT_EQ(error.code(), ExitCode::kBadData) << sample.what;
    EXPECT_TRUE(says(error.what(), "it is "));
    EXPECT_TRUE(says(error.what(), sample.what));
    const bool is_pytorch = sample.group == ContentGroup::kPytorch;
    EXPECT_EQ(static_cast<bool>(says(error.what(), "torch.load")), is_pytorch) << error.what();
  }
}

}  // namespace
}  // namespace eave
