// Reads a dataset from beginning to end for one thread, with the help of other threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/loading/thread_pool.h"
#include "eave/dataset.h"

namespace eave {

// Like Dataset::read, for one calling thread at a time. Reads the images that follow the one asked for together with
// it, by `threads` threads at once. If images fail, throws the exception of the first of them.
class ReadAhead {
 public:
  ReadAhead(const Dataset& dataset, int threads)
      : dataset_(dataset),
        size_(static_cast<std::size_t>(dataset.shape().size())),
        pool_(threads),
        bytes_(size_ * static_cast<std::size_t>(kImagesOfThread * threads)) {}

  void read(std::int64_t index, std::span<std::uint8_t> pixels) {
    if (index < first_ || index >= first_ + count_) load(index);
    std::ranges::copy(place(index), pixels.begin());
  }

 private:
  // Enough to keep a thread busy for longer than it takes to start.
  static constexpr int kImagesOfThread = 4;

  std::span<std::uint8_t> place(std::int64_t index) {
    return std::span(bytes_).subspan(static_cast<std::size_t>(index - first_) * size_, size_);
  }

  void load(std::int64_t index) {
    first_ = index;
    count_ = 0;
    const std::int64_t count =
        std::min<std::int64_t>(std::int64_t{kImagesOfThread} * pool_.size(), dataset_.size() - index);
    pool_.parallel_for(count, [&](std::int64_t part, int) { dataset_.read(index + part, place(index + part)); });
    count_ = count;
  }

  const Dataset& dataset_;
  const std::size_t size_;
  ThreadPool pool_;
  std::vector<std::uint8_t> bytes_;
  std::int64_t first_ = 0, count_ = 0;  // the images in `bytes_`
};

}  // namespace eave
