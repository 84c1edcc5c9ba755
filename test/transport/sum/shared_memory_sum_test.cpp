// SharedMemorySum and SharedMemory: sums through memory that the ranks of a host share. Ranks are threads.
#include "transport/sum/shared_memory_sum.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/transport/numbers.h"
#include "transport/core/shared_memory.h"

namespace eave {
namespace {

struct PageFree {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<std::byte, PageFree>;

Pages zero_pages(std::size_t bytes) {
  const std::size_t whole = (bytes + 4095) / 4096 * 4096;
  Pages pages(static_cast<std::byte*>(std::aligned_alloc(4096, whole)));
  std::fill(pages.get(), pages.get() + whole, std::byte{0});
  return pages;
}

// Runs body(sum, place) in a thread for each rank.
template <class Body>
void on_ranks_of_a_host(int ranks, const SharedMemorySum::Pause& pause, const Body& body) {
  const std::size_t bytes = SharedMemorySum::bytes_for(ranks);
  const Pages memory = zero_pages(bytes);
  std::vector<std::thread> threads;
  for (int place = 0; place < ranks; ++place) {
    threads.emplace_back([&, place] {
      SharedMemorySum sum({memory.get(), bytes}, place, ranks, pause);
      body(sum, place);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

constexpr std::chrono::microseconds kShort(50);

std::chrono::nanoseconds sleep_shortly(bool) { return kShort; }

TEST(SharedMemorySum, adds_up_in_rank_order_one_slice_after_the_other) {
  for (const int ranks : {2, 3, 5}) {
    const std::vector<int> all = all_ranks(ranks);
    on_ranks_of_a_host(ranks, sleep_shortly, [&](SharedMemorySum& sum, int place) {
      for (const std::size_t count : {1, 2, 0, 4, 1000, 65536, 65537, 700001, 3}) {
        std::vector<float> values = uneven_numbers(place, count);
        sum.all_reduce_sum(values);
        EXPECT_TRUE(same_bits(values, sum_in_order(all, count))) << count << " values of " << ranks << " ranks";
      }
    });
  }
}

// Sums in place, at several offsets of memory that all ranks can write, take turns with sums that copy into buffers.
TEST(SharedMemorySum, adds_up_in_place_what_all_can_write) {
  constexpr std::size_t kStride = 20000;
  for (const int ranks : {2, 3, 5}) {
    const std::vector<int> all = all_ranks(ranks);
    std::vector<float> memory(kStride * all.size());
    on_ranks_of_a_host(ranks, sleep_shortly, [&](SharedMemorySum& sum, int place) {
      const Slice mine = Slice(memory).subspan(kStride * static_cast<std::size_t>(place), kStride);
      std::size_t round = 0;
      for (const std::size_t count : {1, 2, 0, 4, 5000, 19999, 70, 3, 2, 11, 9000, 8}) {
        const std::vector<float> values = uneven_numbers(place, count), expected = sum_in_order(all, count);
        const std::size_t at = round++ % 2;
        std::ranges::copy(values, mine.begin() + static_cast<std::ptrdiff_t>(at));
        sum.sum_in_place(mine.subspan(at, count), kStride, at);
        const Slice sums = mine.subspan(at, count);
        EXPECT_TRUE(same_bits({sums.begin(), sums.end()}, expected)) << count << " values of " << ranks << " ranks";
        std::vector<float> others = values;
        sum.all_reduce_sum(others);
        EXPECT_TRUE(same_bits(others, expected)) << count << " values of " << ranks << " ranks, copied";
      }
    });
  }
}

// Expects that both ranks of a host still wait in `body` after 2000 pauses.
void expect_to_wait_for_ever(const std::string& what, const std::function<void(SharedMemorySum&, int place)>& body) {
  struct WaitedLong {};
  std::array<std::atomic<bool>, 2> waited{};
  const auto give_up = [waits = 0](bool) mutable -> std::chrono::nanoseconds {
    if (++waits > 2000) throw WaitedLong();
    return kShort;
  };
  on_ranks_of_a_host(2, give_up, [&](SharedMemorySum& sum, int place) {
    try {
      body(sum, place);
    } catch (const WaitedLong&) {
      waited[static_cast<std::size_t>(place)] = true;
    }
  });
  EXPECT_TRUE(waited[0] && waited[1]) << what;
}

TEST(SharedMemorySum, does_not_end_where_values_lie_at_different_places) {
  std::vector<float> memory(2000, 1.0f);
  for (const bool one_copies : {false, true}) {
    expect_to_wait_for_ever(one_copies ? "one copies" : "none copies", [&](SharedMemorySum& sum, int place) {
      const Slice values = Slice(memory).subspan(static_cast<std::size_t>(place) * 1000, 500);
      if (place == 1 && one_copies) return sum.all_reduce_sum(values);
      sum.sum_in_place(values, 1000, static_cast<std::uint64_t>(place));
    });
    EXPECT_EQ(std::ranges::count(memory, 1.0f), 2000) << "something was added";
  }
}

TEST(SharedMemorySum, waits_for_whoever_is_late) {
  using namespace std::chrono_literals;
  on_ranks_of_a_host(3, sleep_shortly, [](SharedMemorySum& sum, int place) {
    for (int round = 0; round < 30; ++round) {
      if (round % 3 == place) std::this_thread::sleep_for(2ms);
      std::vector<float> values = uneven_numbers(place + round, 100000);
      std::vector<float> expected = sum_in_order({round, round + 1, round + 2}, values.size());
      sum.all_reduce_sum(values);
      ASSERT_TRUE(same_bits(values, expected)) << "round " << round;
    }
  });
}

// If a sum of slices of different lengths ended, it would have added up values that do not belong together.
TEST(SharedMemorySum, does_not_end_where_slices_differ_in_length) {
  for (const std::size_t less : {1, 99, 40000}) {
    expect_to_wait_for_ever(std::to_string(less), [&](SharedMemorySum& sum, int place) {
      std::vector<float> values(50000 - (place == 1 ? less : 0), 1.0f);
      sum.all_reduce_sum(values);
    });
  }
}

TEST(SharedMemory, is_the_same_for_whoever_opens_it_and_begins_with_zeros) {
  const auto made = SharedMemory::create(100000);
  ASSERT_TRUE(made);
  EXPECT_LT(made->address().size(), 64u);
  const auto opened = SharedMemory::open(made->address(), 100000);
  ASSERT_TRUE(opened);
  ASSERT_EQ(opened->bytes().size(), 100000u);
  EXPECT_NE(opened->bytes().data(), made->bytes().data());
  EXPECT_EQ(std::ranges::count(opened->bytes(), std::byte{0}), 100000);
  made->bytes().back() = std::byte{7};
  EXPECT_EQ(opened->bytes().back(), std::byte{7});
}

// A huge page of the file is a huge page in a process only if its address is a multiple of its size.
TEST(SharedMemory, lies_as_huge_pages_must) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20, kBytes = 3 * kHugePage + 5;
  const auto made = SharedMemory::create(kBytes), opened = SharedMemory::open(made->address(), kBytes);
  for (const auto* memory : {made.get(), opened.get()}) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory->bytes().data());
    EXPECT_EQ((begin - 4096) % kHugePage, 0u);
  }
  std::ranges::fill(made->bytes(), std::byte{3});
  EXPECT_EQ(std::ranges::count(opened->bytes(), std::byte{3}), std::ptrdiff_t{kBytes});
}

TEST(SharedMemory, is_not_taken_for_another_or_one_that_is_gone) {
  auto made = SharedMemory::create(5000);
  ASSERT_TRUE(made);
  const std::string address = made->address(), place = address.substr(address.find(' '));
  EXPECT_FALSE(SharedMemory::open(address, 5001));
  EXPECT_FALSE(SharedMemory::open("1" + place, 5000));
  EXPECT_FALSE(SharedMemory::open("", 5000));
  EXPECT_FALSE(SharedMemory::open("12345", 5000));
  EXPECT_FALSE(SharedMemory::open("12345 /dev/null", 5000));
  made.reset();
  EXPECT_FALSE(SharedMemory::open(address, 5000));
}

TEST(SharedMemory, that_is_not_to_be_had_is_none) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit little{.rlim_cur = 10000, .rlim_max = limit.rlim_max};
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  EXPECT_FALSE(SharedMemory::create(20000));
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_TRUE(SharedMemory::create(20000));
}

}  // namespace
}  // namespace eave
