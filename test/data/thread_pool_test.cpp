// ThreadPool: several threads that fill a batch together.
#include "data/loading/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "data/loading/read_ahead.h"
#include "eave/loader.h"
#include "test/allocations.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

TEST(ThreadPool, works_on_each_part_once_however_many_threads_and_parts_there_are) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.size(), threads);
    for (const std::int64_t parts : {0, 1, 3, 100, 0, 7}) {
      std::vector<int> done(static_cast<std::size_t>(parts));
      std::vector<int> of_threads(static_cast<std::size_t>(threads));
      pool.parallel_for(parts, [&](std::int64_t part, int thread) {
        ++done[static_cast<std::size_t>(part)];
        ++of_threads.at(static_cast<std::size_t>(thread));
      });
      EXPECT_EQ(done, std::vector<int>(static_cast<std::size_t>(parts), 1));
      EXPECT_EQ(std::accumulate(of_threads.begin(), of_threads.end(), 0), parts);
    }
  }
}

TEST(ThreadPool, throws_what_the_first_part_to_fail_has_thrown_and_goes_on) {
  for (const int threads : {1, 2, 4, 8}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      const auto fail = [](std::int64_t part, int) {
        // Parts after 11 fail sooner, but the exception of part 11 must be thrown.
        if (part == 11) std::this_thread::sleep_for(std::chrono::microseconds(100));
        if (part >= 11) throw std::runtime_error(std::to_string(part));
      };
      EXPECT_EQ(thrown_by([&] { pool.parallel_for(40, fail); }), "11") << threads << " threads";
    }
    int sum = 0;
    std::mutex mutex;
    pool.parallel_for(10, [&](std::int64_t part, int) {
      const std::lock_guard lock(mutex);
      sum += static_cast<int>(part);
    });
    EXPECT_EQ(sum, 45);
  }
}

TEST(ThreadPool, has_its_threads_work_at_the_same_time) {
  ThreadPool pool(3);
  std::atomic<int> here{0};
  // Each part waits until three parts have begun. With fewer than three threads this would not end.
  pool.parallel_for(3, [&](std::int64_t, int) {
    ++here;
    while (here < 3) std::this_thread::yield();
  });
  EXPECT_EQ(here, 3);
}

// A dataset whose pixels are the sample's number. Samples from `first_bad` on cannot be read.
class SlowNumbers : public SmallDataset {
 public:
  explicit SlowNumbers(std::int64_t first_bad) : SmallDataset(500, {4, 4, 1}, 10), first_bad_(first_bad) {}
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    if (index % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (index >= first_bad_) throw std::runtime_error(std::to_string(index));
    std::ranges::fill(pixels, static_cast<std::uint8_t>(index));
  }

 private:
  std::int64_t first_bad_;
};

DataSplit numbers_with(int threads, std::int64_t first_bad = INT64_MAX) {
  DataSplit split;
  split.train = std::make_unique<SlowNumbers>(first_bad);
  split.test = std::make_unique<SlowNumbers>(first_bad);
  split.mean = {0.5F};
  split.deviation = {0.25F};
  split.reading_threads = threads;
  return split;
}

Loader::Settings steps_up_to(std::int64_t last) {
  Loader::Settings settings;
  settings.augmentation = {1, 4, 4, true};
  settings.last_step = last;
  return settings;
}

std::vector<float> first_steps(const DataSplit& split, std::int64_t steps) {
  Sampler sampler(Sampling::kShard, split.train->size(), 1, 32, 1, {});
  Loader loader(split, sampler, steps_up_to(steps));
  std::vector<float> all;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Batch& batch = loader.next();
    all.insert(all.end(), batch.inputs.begin(), batch.inputs.end());
    for (const std::int32_t label : batch.labels) all.push_back(static_cast<float>(label));
  }
  return all;
}

TEST(LoaderThreads, make_the_same_batches_however_many_they_are) {
  const std::vector<float> one = first_steps(numbers_with(1), 20);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(first_steps(numbers_with(threads), 20), one) << threads;
}

TEST(LoaderThreads, make_the_same_evaluation_however_many_they_are) {
  const auto evaluate = [](const DataSplit& split) {
    std::vector<float> all;
    for_each_evaluation_batch(split, *split.test, {1, 4, 4, true}, 3, 490, 64, [&](const Batch& batch) {
      all.insert(all.end(), batch.inputs.begin(), batch.inputs.end());
    });
    return all;
  };
  EXPECT_EQ(evaluate(numbers_with(4)), evaluate(numbers_with(1)));
}

TEST(LoaderThreads, that_fail_together_give_the_error_of_the_first_sample) {
  Sampler sampler(Sampling::kShard, 500, 1, 32, 1, {});
  std::vector<std::int64_t> indices(32);
  sampler.indices(0, 0, 0, indices);
  const auto bad = std::ranges::find_if(indices, [](std::int64_t index) { return index >= 250; });
  ASSERT_NE(bad, indices.end());
  for (const int threads : {1, 4}) {
    EXPECT_EQ(thrown_by([&] { first_steps(numbers_with(threads, 250), 1); }), std::to_string(*bad)) << threads;
  }
}

TEST(LoaderThreads, ask_for_no_memory_once_they_run) {
  const DataSplit split = numbers_with(3);
  Sampler sampler(Sampling::kShard, 500, 1, 32, 1, {});
  Loader loader(split, sampler, steps_up_to(15));
  loader.next();
  const long before = allocations();
  for (int step = 1; step < 15; ++step) loader.next();
  EXPECT_EQ(allocations(), before);
}

TEST(ReadAhead, gives_what_the_dataset_gives_in_any_order) {
  for (const int threads : {1, 3}) {
    const SlowNumbers numbers(INT64_MAX);
    ReadAhead ahead(numbers, threads);
    std::vector<std::int64_t> order(500);
    std::iota(order.begin(), order.end(), 0);
    order.insert(order.end(), {499, 0, 130, 131, 5, 498, 498});
    for (const std::int64_t index : order) {
      std::vector<std::uint8_t> pixels(16), expected(16, static_cast<std::uint8_t>(index));
      ahead.read(index, pixels);
      ASSERT_EQ(pixels, expected) << index;
    }
  }
}

TEST(ReadAhead, throws_what_the_first_image_throws_each_time) {
  const SlowNumbers numbers(70);
  ReadAhead ahead(numbers, 4);
  std::vector<std::uint8_t> pixels(16);
  ahead.read(0, pixels);
  for (const std::int64_t index : {64, 65, 300}) {
    EXPECT_EQ(thrown_by([&] { ahead.read(index, pixels); }), std::to_string(std::max<std::int64_t>(index, 70)));
  }
  ahead.read(3, pixels);
  EXPECT_EQ(pixels[0], 3);
}

}  // namespace
}  // namespace eave
