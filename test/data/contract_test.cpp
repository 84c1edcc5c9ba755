// The contract of Dataset, for each kind of dataset by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "test/data/data_files.h"
#include "test/data/image_writers.h"
#include "test/data/tokens/text_files.h"
#include "test/data/tokens/token_files.h"

namespace eave {
namespace {

// The pixels of an image and its label, or the tokens of a window.
std::vector<std::int32_t> sample_of(const Dataset& dataset, std::int64_t index) {
  if (dataset.tokens() != nullptr) return tokens_of(dataset, index);
  const Bytes pixels = pixels_of(dataset, index);
  std::vector<std::int32_t> sample(pixels.begin(), pixels.end());
  sample.push_back(dataset.label(index));
  return sample;
}

class DatasetContract : public testing::TestWithParam<std::string> {
 protected:
  // Writes small files for the kinds that read files.
  void SetUp() override {
    if (GetParam() == "mnist") write_set(directory_.path(), small_idx_set());
    if (GetParam() == "cifar10") write_cifar10_set(directory_.path());
    if (GetParam() == "image-folder") write_image_folder(directory_.path());
    if (GetParam() == "text") write_text_folder(directory_.path());
    if (GetParam() == "tokens") write_token_folder(directory_.path());
    if (!std::filesystem::is_empty(directory_.path())) given_["data-dir"] = directory_.path().string();
    if (GetParam() == "synthetic") given_ = {{"synthetic-samples", "2000"}, {"synthetic-test-samples", "500"}};
    const Refusal found = refusal_of([&] { split_ = open_dataset(GetParam(), given_); });
    if (found.code == ExitCode::kInputMissing) GTEST_SKIP() << found;
    ASSERT_EQ(found.code, ExitCode::kDone) << found;
  }
  std::vector<const Dataset*> parts() const { return {split_.train.get(), split_.test.get()}; }

  TemporaryDirectory directory_;
  std::map<std::string, std::string> given_;
  DataSplit split_;
};

TEST_P(DatasetContract, parts_agree_in_shape_and_classes_and_are_not_empty) {
  EXPECT_EQ(split_.train->shape(), split_.test->shape());
  EXPECT_EQ(split_.train->classes(), split_.test->classes());
  EXPECT_GE(split_.train->size(), split_.test->size());
  EXPECT_GT(split_.test->size(), 0);
  EXPECT_GT(split_.train->shape().size(), 0);
}

class ImageDatasetContract : public DatasetContract {};
class TokenDatasetContract : public DatasetContract {};

TEST_P(ImageDatasetContract, every_label_is_one_of_the_classes_and_every_class_occurs) {
  for (const Dataset* part : parts()) {
    std::vector<std::int64_t> count(static_cast<std::size_t>(part->classes()));
    for (std::int64_t index = 0; index < part->size(); ++index)
      ++count.at(static_cast<std::size_t>(part->label(index)));
    EXPECT_GT(*std::min_element(count.begin(), count.end()), 0);
  }
}

TEST_P(ImageDatasetContract, read_writes_one_image_and_nothing_beside_it) {
  for (const Dataset* part : parts()) {
    const auto size = static_cast<std::size_t>(part->shape().size());
    for (const std::int64_t index : {std::int64_t{0}, part->size() / 2, part->size() - 1}) {
      Bytes ones(size + 2, 1), twos(size + 2, 2);
      part->read(index, std::span(ones).subspan(1, size));
      part->read(index, std::span(twos).subspan(1, size));
      EXPECT_EQ(ones.front() + ones.back(), 2);
      EXPECT_EQ(twos.front() + twos.back(), 4);
      EXPECT_TRUE(std::equal(ones.begin() + 1, ones.end() - 1, twos.begin() + 1)) << "every byte is written";
    }
  }
}

TEST_P(DatasetContract, opened_again_it_is_the_same) {
  const DataSplit again = open_dataset(GetParam(), given_);
  EXPECT_EQ(again.mean, split_.mean);
  EXPECT_EQ(again.deviation, split_.deviation);
  ASSERT_EQ(again.train->size(), split_.train->size());
  for (std::int64_t index = 0; index < split_.train->size(); index += 1 + split_.train->size() / 100) {
    ASSERT_EQ(sample_of(*again.train, index), sample_of(*split_.train, index));
  }
}

TEST_P(DatasetContract, may_be_read_from_several_threads_at_once) {
  constexpr std::int64_t kSamples = 10;
  std::vector<std::vector<std::int32_t>> expected;
  for (std::int64_t index = 0; index < kSamples; ++index) expected.push_back(sample_of(*split_.train, index));
  std::vector<int> wrong(4);
  {
    std::vector<std::jthread> threads;
    for (int& mine : wrong) {
      threads.emplace_back([&] {
        for (std::int64_t i = 0; i < 20 * kSamples; ++i) {
          mine += sample_of(*split_.train, i % kSamples) != expected[static_cast<std::size_t>(i % kSamples)];
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST_P(ImageDatasetContract, has_a_mean_and_a_positive_deviation_per_channel) {
  const auto channels = static_cast<std::size_t>(split_.train->shape().channels);
  ASSERT_EQ(split_.mean.size(), channels);
  ASSERT_EQ(split_.deviation.size(), channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    EXPECT_TRUE(split_.mean[channel] >= 0 && split_.mean[channel] <= 1);
    EXPECT_TRUE(split_.deviation[channel] > 0 && split_.deviation[channel] <= 1);
  }
}

// Windows meet: the last label of one is the first token of the next. Only the last may end early.
TEST_P(TokenDatasetContract, windows_are_one_text_without_gaps_whose_tokens_are_in_the_vocabulary) {
  for (const Dataset* part : parts()) {
    ASSERT_NE(part->tokens(), nullptr);
    std::int32_t next = tokens_of(*part, 0).front();
    std::int64_t labels = 0;
    for (std::int64_t index = 0; index < part->size(); ++index) {
      const std::vector<std::int32_t> window = tokens_of(*part, index);
      ASSERT_EQ(window.size(), static_cast<std::size_t>(part->shape().height) + 1);
      const auto end = std::ranges::find(window, kNoLabel);
      ASSERT_GE(end - window.begin(), 2);
      labels += end - window.begin() - 1;
      ASSERT_TRUE(end == window.end() || index + 1 == part->size());
      EXPECT_TRUE(std::all_of(end, window.end(), [](std::int32_t token) { return token == kNoLabel; }));
      EXPECT_TRUE(std::all_of(window.begin(), end, [&](int token) { return token >= 0 && token < part->classes(); }));
      ASSERT_EQ(window.front(), next);
      next = window.back();
    }
    EXPECT_EQ(part->tokens()->labels(), labels);
  }
}

TEST_P(TokenDatasetContract, refuses_to_be_read_as_images) {
  Bytes pixels(static_cast<std::size_t>(split_.train->shape().size()));
  EXPECT_EQ(refusal_of([&] { split_.train->read(0, pixels); }).code, ExitCode::kInternal);
  EXPECT_EQ(refusal_of([&] { split_.train->label(0); }).code, ExitCode::kInternal);
}

std::string as_test_name(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<std::string> names_of(bool hold_text) {
  std::vector<std::string> names;
  for (const DatasetKind& kind : dataset_kinds()) {
    if (kind.holds_text == hold_text) names.push_back(kind.name);
  }
  return names;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const DatasetKind& kind : dataset_kinds()) names.push_back(kind.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Every, DatasetContract, testing::ValuesIn(all_names()), as_test_name);
INSTANTIATE_TEST_SUITE_P(Every, ImageDatasetContract, testing::ValuesIn(names_of(false)), as_test_name);
INSTANTIATE_TEST_SUITE_P(Every, TokenDatasetContract, testing::ValuesIn(names_of(true)), as_test_name);

class DatasetOfFilesContract : public testing::TestWithParam<std::string> {};

TEST_P(DatasetOfFilesContract, files_that_are_not_there_are_missed_with_place_and_remedy) {
  const TemporaryDirectory directory;
  const std::string nowhere = (directory.path() / "nowhere").string();
  expect_refusal(refusal_of([&] {
                   open_dataset(GetParam(), {{"data-dir", nowhere}});
                 }),
                 ExitCode::kInputMissing, {nowhere, GetParam(), "--data-dir"});
}

std::vector<std::string> names_with_files() {
  std::vector<std::string> names;
  for (const DatasetKind& kind : dataset_kinds()) {
    const auto is_data_dir = [](const OptionSpec& option) { return option.name == "data-dir"; };
    if (std::any_of(kind.options.begin(), kind.options.end(), is_data_dir)) names.push_back(kind.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Every, DatasetOfFilesContract, testing::ValuesIn(names_with_files()), as_test_name);

TEST(DatasetKinds, have_names_summaries_and_options_that_agree) {
  OptionValues all;
  EXPECT_GE(dataset_kinds().size(), 4u);
  for (const DatasetKind& kind : dataset_kinds()) {
    EXPECT_FALSE(kind.name.empty());
    EXPECT_FALSE(kind.summary.empty());
    for (const OptionSpec& option : kind.options) all.declare(option);  // throws if two kinds declare it differently
  }
}

}  // namespace
}  // namespace eave
