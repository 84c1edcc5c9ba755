// Batches of text: inputs are tokens, labels the tokens that follow them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "eave/loader.h"
#include "test/allocations.h"
#include "test/data/data_files.h"
#include "test/data/tokens/text_files.h"

namespace eave {
namespace {

constexpr int kContext = 8;

class TextBatches : public testing::Test {
 protected:
  void SetUp() override {
    write_text_folder(directory_.path());
    split_ = open_dataset("text", {{"data-dir", directory_.path().string()}, {"context", std::to_string(kContext)}});
  }

  TemporaryDirectory directory_;
  DataSplit split_;
};

void expect_tokens(const Batch& batch, const Dataset& dataset) {
  ASSERT_EQ(batch.targets, kContext);
  ASSERT_EQ(batch.inputs.size(), static_cast<std::size_t>(batch.samples * kContext));
  ASSERT_EQ(batch.labels.size(), static_cast<std::size_t>(batch.samples * kContext));
  ASSERT_EQ(batch.images, nullptr);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.samples); ++i) {
    const std::vector<std::int32_t> window = tokens_of(dataset, batch.indices[i]);
    for (std::size_t k = 0; k < kContext; ++k) {
      EXPECT_EQ(batch.inputs[i * kContext + k], static_cast<float>(std::max(window[k], 0)));
      EXPECT_EQ(batch.labels[i * kContext + k], window[k + 1]);
    }
  }
}

// How often each window is seen in one epoch by each step.
using Windows = std::map<std::int64_t, std::vector<std::int64_t>>;

Windows load_epoch(const DataSplit& split, int ranks, std::int64_t batch) {
  Windows seen;
  for (int rank = 0; rank < ranks; ++rank) {
    Sampler sampler(Sampling::kShard, split.train->size(), ranks, batch, 3, {});
    Loader::Settings settings;
    settings.rank = rank;
    settings.last_step = sampler.steps_per_epoch();
    Loader loader(split, sampler, settings);
    for (std::int64_t step = 0; step < settings.last_step; ++step) {
      const Batch& loaded = loader.next();
      expect_tokens(loaded, *split.train);
      seen[step].insert(seen[step].end(), loaded.indices.begin(), loaded.indices.end());
    }
  }
  for (auto& [step, windows] : seen) std::ranges::sort(windows);
  return seen;
}

TEST_F(TextBatches, are_the_same_windows_in_every_step_for_any_number_of_ranks_and_each_once_an_epoch) {
  const Windows one = load_epoch(split_, 1, 64);
  std::vector<std::int64_t> all;
  for (const auto& [step, windows] : one) all.insert(all.end(), windows.begin(), windows.end());
  std::ranges::sort(all);
  ASSERT_EQ(std::ssize(all), split_.train->size());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
  for (const int ranks : {2, 4}) EXPECT_EQ(load_epoch(split_, ranks, 64 / ranks), one) << ranks << " ranks";
}

TEST_F(TextBatches, for_evaluation_come_in_order_and_end_with_the_text) {
  std::int64_t windows = 0, labels = 0;
  for_each_evaluation_batch(split_, *split_.test, {}, 0, split_.test->size(), 7, [&](const Batch& batch) {
    expect_tokens(batch, *split_.test);
    for (const std::int64_t index : batch.indices) EXPECT_EQ(index, windows++);
    labels += std::ranges::count_if(batch.labels, [](std::int32_t label) { return label != kNoLabel; });
  });
  EXPECT_EQ(windows, split_.test->size());
  EXPECT_EQ(labels, std::ssize(text_of(*split_.test)) - 1);
}

TEST_F(TextBatches, ask_for_no_memory_once_the_loader_runs) {
  Sampler sampler(Sampling::kShard, split_.train->size(), 1, 4, 1, {});
  Loader::Settings settings;
  settings.last_step = 50;
  Loader loader(split_, sampler, settings);
  loader.next();
  const long before = allocations();
  for (int step = 1; step < 50; ++step) loader.next();
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace eave
