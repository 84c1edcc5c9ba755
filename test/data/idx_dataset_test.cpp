// Damaged and hostile sets of four IDX files, opened as the program opens them, and the real Fashion-MNIST, if it is
// installed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "test/data/data_files.h"
#include "test/data/moments.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

const char* const kTrainImages = "train-images-idx3-ubyte";
const char* const kTrainLabels = "train-labels-idx1-ubyte";
const char* const kTestImages = "t10k-images-idx3-ubyte";
const char* const kTestLabels = "t10k-labels-idx1-ubyte";

Refusal refusal_in(const fs::path& directory) {
  return refusal_of([&] { open_dataset("mnist", {{"data-dir", directory.string()}}); });
}

void swap_files(const fs::path& directory, const char* a, const char* b) {
  fs::rename(directory / a, directory / "aside");
  fs::rename(directory / b, directory / a);
  fs::rename(directory / "aside", directory / b);
}

struct Damage {
  std::string name;
  std::function<void(const fs::path&)> inflict;
  std::vector<std::string> words;
  ExitCode code = ExitCode::kBadData;
};

void replace(const fs::path& directory, const char* file, const Bytes& bytes) { write_bytes(directory / file, bytes); }

void truncate_to(const fs::path& directory, const char* file, std::uintmax_t size) {
  fs::resize_file(directory / file, size);
}

std::vector<Damage> label_damages() {
  return {
      {"a_label_of_10",
       [](auto& d) { replace(d, kTrainLabels, with(idx_file({30}, {1}), 8, 10)); },
       {kTrainLabels, "label 10 of sample 0 (offset 8", "expected 0 to 9"}},
      {"a_last_label_of_255",
       [](auto& d) { replace(d, kTestLabels, with(idx_file({10}, {1}), 17, 255)); },
       {kTestLabels, "label 255 of sample 9 (offset 17"}},
      {"a_packed_label_of_77",
       [](auto& d) { replace(d, kTestLabels, gzip(with(idx_file({10}, {1}), 11, 77))); },
       {"label 77 of sample 3 (offset 11 of the content)"}},
      {"one_label_less",
       [](auto& d) { replace(d, kTrainLabels, idx_file({29}, {1})); },
       {kTrainImages, "30 images", kTrainLabels, "29 labels", "not of the same set"}},
      {"one_label_more",
       [](auto& d) { replace(d, kTestLabels, idx_file({11}, {1})); },
       {kTestImages, "10 images", kTestLabels, "11 labels"}},
      {"labels_swapped",
       [](auto& d) { swap_files(d, kTrainLabels, kTestLabels); },
       {"training and test files were swapped"}},
  };
}

std::vector<Damage> swaps() {
  return {
      {"images_swapped",
       [](auto& d) { swap_files(d, kTrainImages, kTestImages); },
       {"training and test files were swapped"}},
      {"images_and_labels_swapped",
       [](auto& d) { swap_files(d, kTrainImages, kTrainLabels); },
       {kTrainLabels, "holds images where labels belong", "swapped"}},
      {"other_size_of_test_images",
       [](auto& d) {
         replace(d, kTestImages, idx_file({10, 5, 5}, {1}));
       },
       {kTrainImages, kTestImages, "differ in the size"}},
      {"images_wider_than_can_be",
       [](auto& d) {
         replace(d, kTrainImages, idx_file({1, 1, 65536}, {1}));
       },
       {"1 x 65536 pixels", "at most 65535"}},
  };
}

std::vector<Damage> truncations() {
  std::vector<Damage> damages;
  for (const char* file : {kTrainImages, kTrainLabels, kTestImages, kTestLabels}) {
    for (const std::uintmax_t size : {0, 3, 7, 9}) {
      const std::string name = std::string(file).substr(0, file[1] == '1' ? 8 : 9) + "_cut_to_" + std::to_string(size);
      std::string word_name = name;
      for (char& letter : word_name) letter = letter == '-' ? '_' : letter;
      damages.push_back({word_name, [=](auto& d) { truncate_to(d, file, size); }, {file}});
    }
  }
  return damages;
}

std::vector<Damage> wrong_kinds_of_file() {
  const ExitCode missing = ExitCode::kInputMissing;
  const auto remove = [](const char* file) { return [=](auto& d) { fs::remove(d / file); }; };
  return {
      {"no_training_images", remove(kTrainImages), {"lacks train-images-idx3-ubyte[.gz]"}, missing},
      {"no_test_labels", remove(kTestLabels), {"lacks t10k-labels-idx1-ubyte[.gz]"}, missing},
      {"nothing_there",
       [](auto& d) {
         for (const char* file : {kTrainImages, kTrainLabels, kTestImages, kTestLabels}) fs::remove(d / file);
       },
       {"no files of mnist", "--data-dir"},
       missing},
      {"no_directory", [](auto& d) { fs::remove_all(d); }, {"no directory", "no files of mnist"}, missing},
      {"a_directory_as_file",
       [](auto& d) {
         fs::remove(d / kTrainImages);
         fs::create_directory(d / kTrainImages);
       },
       {kTrainImages, "is no regular file but a directory"}},
      {"a_pipe_as_file",
       [](auto& d) {
         fs::remove(d / kTestImages);
         ASSERT_EQ(::mkfifo((d / kTestImages).c_str(), 0600), 0);
       },
       {kTestImages, "is no regular file but a pipe (FIFO)"}},
      {"a_dangling_link",
       [](auto& d) {
         fs::remove(d / kTestImages);
         fs::create_symlink("nowhere", d / kTestImages);
       },
       {"lacks t10k-images-idx3-ubyte[.gz]"},
       missing},
      {"a_link_to_itself",
       [](auto& d) {
         fs::remove(d / kTestImages);
         fs::create_symlink(kTestImages, d / kTestImages);
       },
       {"t10k-images-idx3-ubyte"},
       missing},
  };
}

std::vector<Damage> all_damages() {
  std::vector<Damage> all;
  for (const auto& part : {label_damages(), swaps(), truncations(), wrong_kinds_of_file()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

class DamagedSet : public testing::TestWithParam<Damage> {};

TEST_P(DamagedSet, is_refused_with_code_and_reason) {
  const TemporaryDirectory directory;
  const fs::path place = directory.path() / "set";
  fs::create_directory(place);
  write_set(place, small_idx_set());
  ASSERT_EQ(refusal_in(place).code, ExitCode::kDone) << "before the damage";
  GetParam().inflict(place);
  expect_refusal(refusal_in(place), GetParam().code, GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(All, DamagedSet, testing::ValuesIn(all_damages()),
                         [](const auto& test) { return test.param.name; });

TEST(IdxSet, is_found_packed_and_under_the_names_of_other_unpackers) {
  for (const bool dotted : {false, true}) {
    const TemporaryDirectory directory;
    fs::create_directories(directory.path() / "MNIST" / "raw");
    for (const auto& [plain_name, bytes] : small_idx_set()) {
      std::string name = plain_name;
      if (dotted) name[name.find("-idx")] = '.';
      write_bytes(directory.path() / "MNIST" / "raw" / (name + ".gz"), gzip(bytes));
    }
    const DataSplit split = open_dataset("mnist", {{"data-dir", directory.path().string()}});
    EXPECT_EQ(split.train->size(), 30);
    EXPECT_EQ(split.test->size(), 10);
  }
}

// Few-shot sets have more test images than training images. Swapped files look the same, so a note says it.
TEST(IdxSet, with_more_test_than_training_images_is_taken_and_noted) {
  const TemporaryDirectory directory;
  write_set(directory.path(), small_idx_set());
  EXPECT_EQ(open_dataset("mnist", {{"data-dir", directory.path().string()}}).note, "");
  swap_files(directory.path(), kTrainImages, kTestImages);
  swap_files(directory.path(), kTrainLabels, kTestLabels);
  const DataSplit split = open_dataset("mnist", {{"data-dir", directory.path().string()}});
  EXPECT_EQ(split.train->size(), 10);
  EXPECT_EQ(split.test->size(), 30);
  EXPECT_NE(split.note.find("more test images (30) than training images (10)"), std::string::npos) << split.note;
}

// The header declares 2^20 images, 1 GiB, but there are 30 labels. The file holds 64 MiB of zeros in 2 MiB.
TEST(IdxSet, holds_counts_against_each_other_before_it_unpacks_anything) {
  const TemporaryDirectory directory;
  write_set(directory.path(), small_idx_set());
  Bytes bomb = {0, 0, 8, 3, 0, 0x10, 0, 0, 0, 0, 0, 32, 0, 0, 0, 32};
  bomb.resize(16 + (std::size_t{64} << 20));
  Bytes packed = gzip(bomb);
  packed.resize(std::size_t{2} << 20);  // long enough for the billion bytes that its header declares
  fs::remove(directory.path() / kTrainImages);
  write_bytes(directory.path() / (std::string(kTrainImages) + ".gz"), packed);
  const auto begin = std::chrono::steady_clock::now();
  const Refusal found = refusal_in(directory.path());
  EXPECT_TRUE(found.names("1048576 images") && found.names("30 labels")) << found;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50)) << "64 MiB take longer";
}

TEST(IdxSet, holds_the_pixels_and_labels_of_its_files) {
  const TemporaryDirectory directory;
  write_set(directory.path(), small_idx_set());
  const DataSplit split = open_dataset("mnist", {{"data-dir", directory.path().string()}});
  EXPECT_EQ(split.train->shape(), (ImageShape{6, 5, 1}));
  Bytes pixels(30);
  for (std::int64_t index = 0; index < 30; ++index) {
    split.train->read(index, pixels);
    for (std::int64_t i = 0; i < 30; ++i) ASSERT_EQ(pixels[static_cast<std::size_t>(i)], (30 * index + i) % 251);
    EXPECT_EQ(split.train->label(index), index % 10);
  }
}

TEST(IdxSet, says_which_package_brings_fashion_mnist) {
  const TemporaryDirectory directory;
  const Refusal found = refusal_of([&] { open_dataset("fashion-mnist", {{"data-dir", directory.path().string()}}); });
  expect_refusal(found, ExitCode::kInputMissing, {"apt install dataset-fashion-mnist", directory.path().string()});
}

TEST(FashionMnist, has_the_published_sizes_class_counts_and_moments) {
  DataSplit split;
  const Refusal found = refusal_of([&] { split = open_dataset("fashion-mnist", {}); });
  if (found.code == ExitCode::kInputMissing) GTEST_SKIP() << found;
  ASSERT_EQ(found.code, ExitCode::kDone) << found;
  ASSERT_EQ(split.train->size(), 60000);
  ASSERT_EQ(split.test->size(), 10000);
  ASSERT_EQ(split.train->shape(), (ImageShape{28, 28, 1}));
  EXPECT_EQ(class_counts(*split.train), std::vector<std::int64_t>(10, 6000));
  EXPECT_EQ(class_counts(*split.test), std::vector<std::int64_t>(10, 1000));
  const Moments moments = moments_of(*split.train);
  EXPECT_NEAR(moments.mean[0], split.mean[0], 5e-5) << "the constants have four digits";
  EXPECT_NEAR(moments.deviation[0], split.deviation[0], 5e-5);
}

}  // namespace
}  // namespace eave
