#include "eave/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <stdexcept>
#include <thread>

#include "test/allocations.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

constexpr ImageShape kShape{6, 5, 3};

// A dataset in which sample i has label i % 7, and pixels that differ from those of all other samples.
class CraftedDataset : public SmallDataset {
 public:
  explicit CraftedDataset(std::int64_t size) : SmallDataset(size, kShape, 7) {}
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    if (index == spoilt_) throw std::runtime_error("sample " + std::to_string(index) + " cannot be read");
    if (delay_ > 0ms) std::this_thread::sleep_for(delay_);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<std::uint8_t>(i * 31 + static_cast<std::size_t>(index) * 7 +
                                            (static_cast<std::size_t>(index) >> 5));
    }
    ++reads_;
  }
  void spoil(std::int64_t index) { spoilt_ = index; }
  void slow_down(std::chrono::milliseconds delay) { delay_ = delay; }
  long reads() const { return reads_; }

 private:
  std::int64_t spoilt_ = -1;
  std::chrono::milliseconds delay_{0};
  mutable std::atomic<long> reads_{0};
};

DataSplit crafted_split(std::int64_t size) {
  DataSplit split;
  split.train = std::make_unique<CraftedDataset>(size);
  split.test = std::make_unique<CraftedDataset>(size);
  split.mean = {0.5F, 0.4F, 0.3F};
  split.deviation = {0.2F, 0.25F, 0.3F};
  return split;
}

CraftedDataset& train_of(const DataSplit& split) { return dynamic_cast<CraftedDataset&>(*split.train); }

Loader::Settings settings_of(int rank, std::int64_t first_step, std::int64_t last_step) {
  Loader::Settings settings;
  settings.augmentation = {2, 5, 4, true};
  settings.seed = 9;
  settings.rank = rank;
  settings.first_step = first_step;
  settings.last_step = last_step;
  return settings;
}

// Maps step and dataset index to the label and the floats of the sample.
using Seen = std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int32_t, std::vector<float>>>;

void collect(const Batch& batch, Seen& seen) {
  const std::size_t values = batch.samples == 0 ? 0 : batch.inputs.size() / static_cast<std::size_t>(batch.samples);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.samples); ++i) {
    const auto image = batch.inputs.subspan(i * values, values);
    const bool is_new =
        seen.insert({{batch.step, batch.indices[i]}, {batch.labels[i], std::vector<float>(image.begin(), image.end())}})
            .second;
    EXPECT_TRUE(is_new) << "step " << batch.step << ", index " << batch.indices[i];
  }
}

Seen load(const DataSplit& split, Sampling sampling, int ranks, std::int64_t batch, std::int64_t first_step,
          std::int64_t last_step) {
  Seen seen;
  for (int rank = 0; rank < ranks; ++rank) {
    Sampler sampler(sampling, split.train->size(), ranks, batch, 4,
                    std::vector<std::int32_t>(static_cast<std::size_t>(split.train->size())));
    Loader loader(split, sampler, settings_of(rank, first_step, last_step));
    for (std::int64_t step = first_step; step < last_step; ++step) {
      const Batch& loaded = loader.next();
      EXPECT_EQ(loaded.step, step);
      EXPECT_EQ(loaded.inputs.size(), static_cast<std::size_t>(loaded.samples) * 5 * 4 * 3);
      EXPECT_EQ(loaded.labels.size(), static_cast<std::size_t>(loaded.samples));
      EXPECT_EQ(loaded.indices.size(), static_cast<std::size_t>(loaded.samples));
      collect(loaded, seen);
    }
  }
  return seen;
}

TEST(Loader, gives_the_same_pixels_in_every_step_whatever_the_number_of_ranks) {
  const DataSplit split = crafted_split(50);  // 50 = 4 · 12 + 2: the last step leaves ranks without samples
  for (const Sampling sampling : {Sampling::kShard, Sampling::kStratified}) {
    const Seen one = load(split, sampling, 1, 12, 0, 15);
    EXPECT_EQ(one.size(), 150u);
    for (const int ranks : {2, 3, 4, 6}) {
      EXPECT_EQ(load(split, sampling, ranks, 12 / ranks, 0, 15), one) << ranks << " ranks";
    }
  }
}

TEST(Loader, begun_in_the_middle_goes_on_as_if_never_stopped) {
  const DataSplit split = crafted_split(50);
  const Seen all = load(split, Sampling::kShard, 2, 6, 0, 15);
  Seen parts = load(split, Sampling::kShard, 2, 6, 0, 7);
  parts.merge(load(split, Sampling::kShard, 2, 6, 7, 15));
  EXPECT_EQ(parts, all);
}

TEST(Loader, labels_belong_to_their_indices) {
  const DataSplit split = crafted_split(50);
  for (const auto& [where, what] : load(split, Sampling::kShard, 1, 10, 0, 5)) {
    EXPECT_EQ(what.first, where.second % 7);
  }
}

TEST(Loader, augments_a_sample_anew_in_every_epoch) {
  const DataSplit split = crafted_split(50);
  const Seen seen = load(split, Sampling::kShard, 1, 50, 0, 2);
  int same = 0;
  for (std::int64_t index = 0; index < 50; ++index) same += seen.at({0, index}) == seen.at({1, index});
  EXPECT_LT(same, 10);  // by chance, one placing in 84 is the same: 6 × 7 positions, two mirrors
}

TEST(Loader, a_rank_without_samples_gets_an_empty_batch) {
  const DataSplit split = crafted_split(9);
  Sampler sampler(Sampling::kShard, 9, 4, 2, 1, {});  // 8 + 1: the last sample goes to rank 3
  Loader loader(split, sampler, settings_of(0, 0, 2));
  EXPECT_EQ(loader.next().samples, 2);
  const Batch& batch = loader.next();
  EXPECT_EQ(batch.samples, 0);
  EXPECT_EQ(batch.step, 1);
  EXPECT_TRUE(batch.inputs.empty());
}

bool wait_for_reads(const CraftedDataset& dataset, long reads) {
  for (int i = 0; i < 1000 && dataset.reads() < reads; ++i) std::this_thread::sleep_for(5ms);
  return dataset.reads() >= reads;
}

TEST(Loader, prefetches_its_depth_and_no_more) {
  const DataSplit split = crafted_split(40);
  Sampler sampler(Sampling::kShard, 40, 1, 4, 1, {});
  Loader::Settings settings = settings_of(0, 0, 10);
  settings.depth = 3;
  Loader loader(split, sampler, settings);
  EXPECT_TRUE(wait_for_reads(train_of(split), 12));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(train_of(split).reads(), 12);
  loader.next();
  EXPECT_TRUE(wait_for_reads(train_of(split), 16));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(train_of(split).reads(), 16);
}

TEST(Loader, a_batch_stays_as_it_is_until_the_next_is_asked_for) {
  const DataSplit split = crafted_split(40);
  for (const int depth : {1, 2}) {
    Sampler sampler(Sampling::kShard, 40, 1, 4, 1, {});
    Loader::Settings settings = settings_of(0, 0, 10);
    settings.depth = depth;
    Loader loader(split, sampler, settings);
    for (int step = 0; step < 10; ++step) {
      const Batch& batch = loader.next();
      const std::vector<float> before(batch.inputs.begin(), batch.inputs.end());
      const std::vector<std::int64_t> indices(batch.indices.begin(), batch.indices.end());
      std::this_thread::sleep_for(5ms);  // meanwhile the loading thread fills all batches that it may
      EXPECT_TRUE(std::equal(before.begin(), before.end(), batch.inputs.begin()));
      EXPECT_TRUE(std::equal(indices.begin(), indices.end(), batch.indices.begin()));
    }
  }
}

TEST(Loader, an_exception_comes_out_in_place_of_the_batch_it_spoiled) {
  const DataSplit split = crafted_split(40);
  Sampler sampler(Sampling::kShard, 40, 1, 4, 1, {});
  std::vector<std::int64_t> indices(4);
  sampler.indices(0, 6, 0, indices);
  train_of(split).spoil(indices[2]);
  Loader loader(split, sampler, settings_of(0, 0, 10));
  for (int step = 0; step < 6; ++step) EXPECT_EQ(loader.next().samples, 4);
  EXPECT_EQ(thrown_by([&] { loader.next(); }), "sample " + std::to_string(indices[2]) + " cannot be read");
  EXPECT_EQ(loader.next().step, 7);
}

TEST(Loader, left_early_or_unused_ends_at_once) {
  const DataSplit split = crafted_split(40);
  for (int used = 0; used < 4; ++used) {
    Sampler sampler(Sampling::kShard, 40, 1, 4, 1, {});
    Loader loader(split, sampler, settings_of(0, 0, INT64_MAX));
    for (int step = 0; step < used; ++step) loader.next();
  }
}

TEST(Loader, asked_for_more_steps_than_it_was_made_for_says_so) {
  const DataSplit split = crafted_split(40);
  Sampler sampler(Sampling::kShard, 40, 1, 4, 1, {});
  Loader loader(split, sampler, settings_of(0, 3, 4));
  EXPECT_EQ(loader.next().step, 3);
  EXPECT_EQ(refusal_of([&] { loader.next(); }).code, ExitCode::kInternal);
}

TEST(Loader, counts_the_time_that_its_consumer_waits) {
  const DataSplit split = crafted_split(8);
  train_of(split).slow_down(20ms);
  Sampler sampler(Sampling::kShard, 8, 1, 2, 1, {});
  Loader loader(split, sampler, settings_of(0, 0, 4));
  EXPECT_EQ(loader.seconds_waited(), 0.0);
  const auto begin = std::chrono::steady_clock::now();
  for (int step = 0; step < 4; ++step) loader.next();
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GT(loader.seconds_waited(), 0.1);  // 8 samples of 20 ms, less the time before the first call
  EXPECT_LE(loader.seconds_waited(), elapsed);
}

TEST(Loader, asks_for_no_memory_once_it_runs) {
  const DataSplit split = crafted_split(1000);
  for (const Sampling sampling : {Sampling::kShard, Sampling::kWhole}) {
    Sampler sampler(sampling, 1000, 2, 16, 1, {});
    Loader loader(split, sampler, settings_of(1, 0, 200));
    loader.next();
    const long before = allocations();
    for (int step = 1; step < 200; ++step) loader.next();
    EXPECT_EQ(allocations(), before);
  }
}

Seen evaluate(const DataSplit& split, std::int64_t first, std::int64_t last, std::int64_t batch,
              std::vector<std::int64_t>* order = nullptr) {
  Seen seen;
  for_each_evaluation_batch(split, *split.test, {2, 5, 4, true}, first, last, batch, [&](const Batch& part) {
    EXPECT_LE(part.samples, batch);
    Batch whole = part;
    whole.step = 0;
    collect(whole, seen);
    if (order != nullptr) order->insert(order->end(), part.indices.begin(), part.indices.end());
  });
  return seen;
}

TEST(EvaluationBatches, cover_everything_once_and_in_order) {
  const DataSplit split = crafted_split(50);
  std::vector<std::int64_t> order;
  evaluate(split, 0, 50, 8, &order);
  ASSERT_EQ(order.size(), 50u);
  for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(EvaluationBatches, hold_the_same_pixels_however_they_are_cut) {
  const DataSplit split = crafted_split(50);
  const Seen at_once = evaluate(split, 0, 50, INT64_MAX);
  EXPECT_EQ(evaluate(split, 0, 50, 7), at_once);
  Seen parts = evaluate(split, 0, 17, 4);
  parts.merge(evaluate(split, 17, 17, 4));
  parts.merge(evaluate(split, 17, 50, 4));
  EXPECT_EQ(parts, at_once);
}

TEST(EvaluationBatches, show_the_centre_unmirrored) {
  const DataSplit split = crafted_split(20);
  Bytes pixels(static_cast<std::size_t>(kShape.size()));
  for (const auto& [where, what] : evaluate(split, 0, 20, 6)) {
    split.test->read(where.second, pixels);
    // 6 × 5 pixels padded by 2 are 10 × 9. The central crop of 5 × 4 begins at (2, 2), the corner of the unpadded
    // image.
    const double corner = (pixels[0] / 255.0 - double{0.5F}) / double{0.2F};
    EXPECT_EQ(what.second.front(), static_cast<float>(corner));
    EXPECT_EQ(what.first, where.second % 7);
  }
}

}  // namespace
}  // namespace eave
