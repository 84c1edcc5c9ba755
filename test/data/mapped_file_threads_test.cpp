// MappedFile when several threads read it, also while the file is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "data/files/mapped_file.h"
#include "test/data/data_files.h"

namespace eave {
namespace {

// The byte at `offset` of the test's file. It depends on the offset and is never 0.
std::uint8_t byte_at(std::uint64_t offset) { return static_cast<std::uint8_t>(offset * 2654435761U >> 13U | 1U); }

Bytes bytes_from(std::uint64_t offset, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = byte_at(offset + i);
  return bytes;
}

// Each of six threads reads `times` samples all over the file. Returns how many samples were wrong.
template <typename IsRight>
int count_wrong(const MappedFile& file, int times, IsRight is_right) {
  constexpr std::size_t kSample = 3000;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      Bytes sample(kSample);
      for (int i = 0; i < times; ++i) {
        const std::uint64_t offset = (static_cast<std::uint64_t>(i) * 7919 + thread * 104729) * 1237 % file.size();
        sample.resize(kSample);
        sample.resize(file.read_at(offset, sample));
        if (!is_right(offset, sample)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

TEST(MappedFileThreads, read_what_stands_there) {
  const TemporaryDirectory place;
  constexpr std::size_t size = 20'000'000;
  write_bytes(place.path() / "samples", bytes_from(0, size));
  const MappedFile file(FileSource(place.path() / "samples"));
  ASSERT_TRUE(file.is_mapped());
  EXPECT_EQ(count_wrong(file, 500,
                        [&](std::uint64_t offset, const Bytes& sample) {
                          return sample == bytes_from(offset, std::min<std::size_t>(3000, size - offset));
                        }),
            0);
  EXPECT_TRUE(file.is_mapped());
}

TEST(MappedFileThreads, survive_that_the_file_is_cut) {
  const TemporaryDirectory place;
  constexpr std::size_t kSize = 2'000'000, kLeft = 700'001;
  write_bytes(place.path() / "samples", bytes_from(0, kSize));
  const MappedFile file(FileSource(place.path() / "samples"));
  std::thread cutter([&] { std::filesystem::resize_file(place.path() / "samples", kLeft); });
  const auto is_of_file = [&](std::uint64_t offset, const Bytes& sample) {
    const std::size_t whole = std::min<std::size_t>(3000, kSize - offset);
    return sample == bytes_from(offset, sample.size()) &&
           (sample.size() == whole || sample.size() == (offset < kLeft ? kLeft - offset : 0));
  };
  const int wrong = count_wrong(file, 2000, is_of_file);
  cutter.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(count_wrong(file, 100,
                        [&](std::uint64_t offset, const Bytes& sample) {
                          return is_of_file(offset, sample) && offset + sample.size() <= std::max(offset, kLeft);
                        }),
            0);
}

}  // namespace
}  // namespace eave
