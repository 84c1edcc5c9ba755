// Sums and broadcasts of more than 2^31 values, here and under mpirun.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

#include "eave/slice.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// An array of floats that is larger than its memory. Only its two ends have memory of their own. The range between them
// maps a single window of 2 MiB many times. Its values stay zero, so adding them up changes nothing.
class MirroredFloats {
 public:
  static constexpr std::size_t kWindowBytes = std::size_t{1} << 21;
  static constexpr std::size_t kWindow = kWindowBytes / sizeof(float);

  explicit MirroredFloats(std::size_t count) : count_(count), bytes_((count / kWindow + 1) * kWindowBytes) {
    const int file = memfd_create("mirrored", 0);
    if (file < 0 || ftruncate(file, 3 * kWindowBytes) != 0) throw std::runtime_error("no memory file");
    data_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (data_ == MAP_FAILED) throw std::runtime_error("no addresses");
    for (std::size_t at = 0; at < bytes_; at += kWindowBytes) {
      const off_t window = at == 0 ? 0 : at + kWindowBytes == bytes_ ? 2 * kWindowBytes : kWindowBytes;
      if (mmap(data_ + at, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, window) == MAP_FAILED)
        throw std::runtime_error("no mapping");
    }
    close(file);
  }
  MirroredFloats(const MirroredFloats&) = delete;
  MirroredFloats& operator=(const MirroredFloats&) = delete;
  ~MirroredFloats() { munmap(data_, bytes_); }

  Slice slice() { return {reinterpret_cast<float*>(data_), count_}; }

 private:
  std::size_t count_, bytes_;
  char* data_;
};

// Collective.
void exchange_more_than_2_31_values(Transport& transport) {
  constexpr std::size_t kCount = (std::size_t{1} << 31) + 12345;
  MirroredFloats memory(kCount);
  const Slice values = memory.slice();
  const float mine = static_cast<float>(transport.rank() + 1);
  const float all = static_cast<float>(transport.size() * (transport.size() + 1) / 2);
  values.front() = values[kCount - 10000] = values.back() = mine;
  transport.all_reduce_sum(values).wait();
  for (std::size_t at : {std::size_t{0}, kCount - 10000, kCount - 1}) EXPECT_EQ(values[at], all) << at;
  EXPECT_EQ(values[kCount / 2], 0.0f);
  values.back() = mine;
  transport.broadcast(values, transport.size() - 1).wait();
  EXPECT_EQ(values.back(), static_cast<float>(transport.size()));
}

TEST(LargeCounts, all_reduce_and_broadcast_reach_the_last_value) {
  for (const Ranks& ranks : ranks_under_test())
    if (ranks.count == 2 || ranks.transport == "loopback") on_ranks(ranks, exchange_more_than_2_31_values);
}

}  // namespace
}  // namespace eave
