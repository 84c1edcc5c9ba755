// The dataset "cifar10": its files, damaged files, and the messages about them. Reads the real files too, if they lie
// beside the checkout.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "test/data/data_files.h"
#include "test/data/moments.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kFileBytes = 30730000;

class Cifar10 : public testing::Test {
 protected:
  Cifar10() { write_cifar10_set(directory_.path()); }
  const fs::path& place() const { return directory_.path(); }
  Refusal refusal() const {
    return refusal_of([&] { open_dataset("cifar10", {{"data-dir", place().string()}}); });
  }
  void change_byte(const char* file, std::streamoff offset, char value) const {
    std::fstream stream(place() / file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(offset);
    stream.put(value);
  }

  TemporaryDirectory directory_;
};

TEST_F(Cifar10, planes_of_a_record_become_channels_of_a_pixel) {
  const DataSplit split = open_dataset("cifar10", {{"data-dir", place().string()}});
  ASSERT_EQ(split.train->size(), 50000);
  ASSERT_EQ(split.test->size(), 10000);
  ASSERT_EQ(split.train->shape(), (ImageShape{32, 32, 3}));
  Bytes pixels(3072);
  for (std::size_t file = 0; file < 5; ++file) {
    const std::size_t record = 13;
    const auto index = static_cast<std::int64_t>(10000 * file + record);
    split.train->read(index, pixels);
    EXPECT_EQ(split.train->label(index), 3);
    for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const std::size_t place_in_record = 1 + channel * 1024 + pixel;
        ASSERT_EQ(pixels[3 * pixel + channel], (place_in_record + 3 * record + 7 * file) % 256);
      }
    }
  }
}

TEST_F(Cifar10, files_of_another_length_are_refused) {
  for (const std::uintmax_t size : {std::uintmax_t{0}, std::uintmax_t{1}, std::uintmax_t{3073}, kFileBytes - 3073,
                                    kFileBytes - 1, kFileBytes + 1, kFileBytes + 10000}) {
    fs::resize_file(place() / "data_batch_3.bin", size);
    expect_refusal(refusal(), ExitCode::kBadData,
                   {"data_batch_3.bin is " + std::to_string(size) + (size == 1 ? " byte" : " bytes") +
                    " long, expected 30730000"});
  }
}

TEST_F(Cifar10, files_of_another_kind_are_named) {
  const auto expect = [&](const Bytes& bytes, const std::string& what, const std::string& advice) {
    write_bytes(place() / "data_batch_1.bin", bytes);
    expect_refusal(refusal(), ExitCode::kBadData, {"data_batch_1.bin is " + what, advice});
  };
  expect({0x80, 2, '}', 'q', 1}, "a pickle of Python, as in CIFAR-10's Python version", "get the binary version");
  expect(gzip(Bytes(257, 'a') + Bytes{'u', 's', 't', 'a', 'r'}), "a gzip file that holds a tar archive", "tar -xzf");
  expect(gzip(Bytes{0x80, 2, '}', 'q', 1}), "a gzip file that holds a pickle", "get the binary version");
  expect({'<', 'h', 't', 'm', 'l', '>'}, "an HTML page", "get the file again");
}

TEST_F(Cifar10, a_label_out_of_range_is_refused_with_its_offset) {
  change_byte("data_batch_5.bin", 9999 * 3073, 10);
  expect_refusal(refusal(), ExitCode::kBadData, {"data_batch_5.bin: label 10 at offset 30726927"});
}

TEST_F(Cifar10, a_label_out_of_range_in_the_test_file_is_refused) {
  change_byte("test_batch.bin", 0, '\xff');
  EXPECT_TRUE(refusal().names("test_batch.bin: label 255 at offset 0")) << refusal();
}

TEST_F(Cifar10, missing_files_are_listed) {
  fs::remove(place() / "data_batch_2.bin");
  fs::remove(place() / "test_batch.bin");
  expect_refusal(refusal(), ExitCode::kInputMissing, {"lacks data_batch_2.bin, test_batch.bin"});
}

TEST_F(Cifar10, a_directory_in_place_of_a_file_is_refused) {
  fs::remove(place() / "data_batch_2.bin");
  fs::create_directory(place() / "data_batch_2.bin");
  expect_refusal(refusal(), ExitCode::kBadData, {"data_batch_2.bin is no regular file but a directory"});
}

TEST_F(Cifar10, a_file_that_shrinks_while_in_use_is_an_error_not_a_crash) {
  const DataSplit split = open_dataset("cifar10", {{"data-dir", place().string()}});
  fs::resize_file(place() / "data_batch_1.bin", 5000);
  Bytes pixels(3072);
  split.train->read(0, pixels);
  expect_refusal(refusal_of([&] { split.train->read(1, pixels); }), ExitCode::kBadData,
                 {"data_batch_1.bin became shorter"});
}

TEST_F(Cifar10, is_found_in_the_folder_that_its_archive_makes) {
  fs::create_directory(place() / "cifar-10-batches-bin");
  for (const auto& entry : fs::directory_iterator(place())) {
    if (entry.is_regular_file()) fs::rename(entry.path(), place() / "cifar-10-batches-bin" / entry.path().filename());
  }
  EXPECT_EQ(refusal().code, ExitCode::kDone) << refusal();
}

TEST(Cifar10Packed, in_another_version_is_named) {
  const TemporaryDirectory directory;
  const auto refusal = [&] {
    return refusal_of([&] { open_dataset("cifar10", {{"data-dir", directory.path().string()}}); });
  };
  write_bytes(directory.path() / "cifar-10-binary.tar.gz", {1});
  EXPECT_TRUE(refusal().names("unpack it there with tar -xzf")) << refusal();
  write_bytes(directory.path() / "data_batch_1", {1});
  expect_refusal(refusal(), ExitCode::kInputMissing,
                 {"data_batch_1 is of CIFAR-10's Python version; get the binary version"});
}

// Packs the files with `packer`, and runs the command in eave's message exactly as printed. The directory's name needs
// quotes.
void expect_unpacks(const std::string& packer, const std::string& ending) {
  const TemporaryDirectory directory;
  const fs::path packed = directory.path() / "it's packed";
  fs::create_directory(packed);
  write_cifar10_set(packed);
  ASSERT_EQ(std::system((packer + " '" + directory.path().string() + "/it'\\''s packed/'*.bin").c_str()), 0);
  const Refusal found = refusal_of([&] { open_dataset("cifar10", {{"data-dir", packed.string()}}); });
  ASSERT_EQ(found.code, ExitCode::kInputMissing) << found;
  EXPECT_TRUE(found.names("holds CIFAR-10 packed (.bin" + ending + ")")) << found;
  const std::size_t begin = found.text.find("mkdir"), end = found.text.find("\nand name");
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << found;
  const std::string command = "cd '" + directory.path().string() + "' && " + found.text.substr(begin, end - begin);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  ASSERT_TRUE(found.names("--data-dir data/cifar10")) << found;
  const DataSplit split = open_dataset("cifar10", {{"data-dir", (directory.path() / "data/cifar10").string()}});
  EXPECT_EQ(split.train->label(17), 7);
}

TEST(Cifar10Packed, the_message_holds_a_command_that_unpacks) {
  if (std::system("xz --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "xz is not installed";
  expect_unpacks("xz -0 -T1", ".xz");
}

TEST(Cifar10Packed, by_gzip_has_such_a_command_too) {
  if (std::system("gzip --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "gzip is not installed";
  expect_unpacks("gzip -1", ".gz");
}

TEST(Cifar10Files, have_the_published_sizes_class_counts_and_moments) {
  const fs::path packed = fs::path(EAVE_SOURCE_DIR) / "../shared/data/cifar-10";
  if (!fs::exists(packed / "test_batch.bin.xz")) GTEST_SKIP() << "no CIFAR-10 in " << packed.lexically_normal();
  if (std::system("xz --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "xz is not installed";
  const TemporaryDirectory directory;
  const std::string unpack = "for f in " + packed.string() + "/*.bin.xz; do xz -dc \"$f\" > " +
                             directory.path().string() + "/$(basename \"$f\" .xz) || exit 1; done";
  ASSERT_EQ(std::system(unpack.c_str()), 0) << unpack;
  const DataSplit split = open_dataset("cifar10", {{"data-dir", directory.path().string()}});
  EXPECT_EQ(class_counts(*split.train), std::vector<std::int64_t>(10, 5000));
  EXPECT_EQ(class_counts(*split.test), std::vector<std::int64_t>(10, 1000));
  const Moments moments = moments_of(*split.train);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    EXPECT_NEAR(moments.mean[channel], split.mean[channel], 5e-5) << "the constants have four digits";
    EXPECT_NEAR(moments.deviation[channel], split.deviation[channel], 1e-4);
  }
}

}  // namespace
}  // namespace eave
