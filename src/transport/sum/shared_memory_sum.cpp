#include "transport/sum/shared_memory_sum.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "eave/check.h"
#include "kernels/cpu/elementwise.h"
#include "transport/core/shared_memory.h"
#include "transport/core/wire.h"

namespace eave {
namespace {

constexpr std::size_t kSegment = 64 * 1024;  // values
constexpr std::size_t kHeldSegments = 8;     // per buffer
constexpr std::size_t kLag = 2;              // segments between two phases of a segment
static_assert(kHeldSegments > 2 * kLag, "a segment is in the buffer through all of its phases");

using Count = std::uint64_t;

// Other ranks read the count while its rank writes it.
Count load(const Count& count) { return std::atomic_ref(const_cast<Count&>(count)).load(std::memory_order_acquire); }

// Ranks in step have the same one in a sum.
Count mark_of(Slice values, std::uint32_t history) { return values.size() ^ (static_cast<Count>(history) << 32); }

}  // namespace

// How many segments this rank has finished, by phase. Each phase has its own cache line.
struct SharedMemorySum::RankBuffer {
  alignas(64) Count contributed;
  alignas(64) Count summed;
  alignas(64) Count taken;
  alignas(64) std::array<Count, kHeldSegments> marks;  // of the sums that the segments belong to
  std::array<Count, kHeldSegments> places;             // 0: in the buffer; else 1 + the place in lent memory
  alignas(64) EventCount events;                       // notified when one of the three counts grows
  alignas(64) std::array<float, kHeldSegments * kSegment> segments;
};

std::size_t SharedMemorySum::bytes_for(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(RankBuffer); }

SharedMemorySum::SharedMemorySum(std::span<std::byte> memory, int place, int ranks, Pause pause)
    : memory_(memory), place_(place), ranks_(ranks), pause_(std::move(pause)) {
  EAVE_CHECK(memory.size() >= bytes_for(ranks), "too little memory for " + std::to_string(ranks) + " ranks");
}

SharedMemorySum::RankBuffer& SharedMemorySum::buffer_of(int place) const {
  return reinterpret_cast<RankBuffer*>(memory_.data())[static_cast<std::size_t>(place)];
}

float* SharedMemorySum::segment_at(int place, Count number) const {
  return &buffer_of(place).segments[number % kHeldSegments * kSegment];
}

template <class Ready>
void SharedMemorySum::wait_for_others(const Ready& ready) {
  for (int place = 0; place < ranks_; ++place) {
    if (place == place_) continue;
    RankBuffer& other = buffer_of(place);
    for (bool is_first = true;; is_first = false) {
      const std::uint32_t seen = other.events.count();
      if (ready(other)) break;
      other.events.wait(seen, pause_(is_first));
    }
  }
}

void SharedMemorySum::publish(Count& count, Count value) {
  std::atomic_ref(count).store(value, std::memory_order_release);
  buffer_of(place_).events.notify_all();
}

void SharedMemorySum::all_reduce_sum(Slice values, std::uint32_t history) {
  const std::size_t count = (values.size() + kSegment - 1) / kSegment;
  const auto segment = [&](std::size_t k) {
    const std::size_t begin = k * kSegment;
    return Segment{values.subspan(begin, std::min(kSegment, values.size() - begin)), next_ + k,
                   mark_of(values, history)};
  };
  for (std::size_t k = 0; k < count + 2 * kLag; ++k) {
    if (k < count) contribute(segment(k));
    if (k >= kLag && k - kLag < count) sum(segment(k - kLag));
    if (k >= 2 * kLag) collect(segment(k - 2 * kLag));
  }
  next_ += count;
}

// The slice is one segment, and needs no buffer.
void SharedMemorySum::sum_in_place(Slice values, std::ptrdiff_t stride, Count at, std::uint32_t history) {
  RankBuffer& mine = buffer_of(place_);
  const Count number = next_++, mark = mark_of(values, history);
  wait_for_others([&](const RankBuffer& other) { return load(other.taken) + kHeldSegments > number; });
  mine.marks[number % kHeldSegments] = mark;
  mine.places[number % kHeldSegments] = at + 1;
  publish(mine.contributed, number + 1);
  wait_for_others([&](const RankBuffer& other) {
    return load(other.contributed) > number && other.marks[number % kHeldSegments] == mark &&
           other.places[number % kHeldSegments] == at + 1;
  });
  add_up_in_place(part_of(values, place_, ranks_), stride);
  publish(mine.summed, number + 1);
  wait_for_others([&](const RankBuffer& other) { return load(other.summed) > number; });
  publish(mine.taken, number + 1);
}

void SharedMemorySum::add_up_in_place(Slice part, std::ptrdiff_t stride) const {
  const auto of = [&](int place) { return part.data() + stride * (place - place_); };
  if (ranks_ == 2) return cpu::add_to_both(of(0), of(1), std::ssize(part));
  constexpr std::size_t kAtATime = 2048;  // sums at a time, which fit into the first-level cache
  std::array<float, kAtATime> sums;
  for (; !part.empty(); part = part.subspan(std::min(kAtATime, part.size()))) {
    const std::ptrdiff_t count = std::min(std::ssize(sums), std::ssize(part));
    cpu::add(of(0), of(1), sums.data(), count);
    for (int place = 2; place < ranks_; ++place) cpu::add(sums.data(), of(place), sums.data(), count);
    for (int place = 0; place < ranks_; ++place) std::copy_n(sums.begin(), count, of(place));
  }
}

void SharedMemorySum::contribute(const Segment& segment) {
  wait_for_others([&](const RankBuffer& other) { return load(other.taken) + kHeldSegments > segment.number; });
  float* const buffer = segment_at(place_, segment.number);
  for (int place = 0; place < ranks_; ++place) {
    const Slice part = part_of(segment.values, place, ranks_);
    if (place != place_) std::ranges::copy(part, buffer + (part.data() - segment.values.data()));
  }
  buffer_of(place_).marks[segment.number % kHeldSegments] = segment.mark;
  buffer_of(place_).places[segment.number % kHeldSegments] = 0;
  publish(buffer_of(place_).contributed, segment.number + 1);
}

void SharedMemorySum::sum(const Segment& segment) {
  const Slice mine = part_of(segment.values, place_, ranks_);
  const std::size_t at = static_cast<std::size_t>(mine.data() - segment.values.data());
  wait_for_others([&](const RankBuffer& other) {
    return load(other.contributed) > segment.number && other.marks[segment.number % kHeldSegments] == segment.mark &&
           other.places[segment.number % kHeldSegments] == 0;
  });
  const auto of = [&](int place) -> const float* {
    return place == place_ ? mine.data() : segment_at(place, segment.number) + at;
  };
  float* const sum = segment_at(place_, segment.number) + at;
  cpu::add(of(0), of(1), sum, std::ssize(mine));
  for (int place = 2; place < ranks_; ++place) cpu::add(sum, of(place), sum, std::ssize(mine));
  std::copy(sum, sum + mine.size(), mine.data());
  publish(buffer_of(place_).summed, segment.number + 1);
}

void SharedMemorySum::collect(const Segment& segment) {
  wait_for_others([&](const RankBuffer& other) { return load(other.summed) > segment.number; });
  for (int place = 0; place < ranks_; ++place) {
    const Slice part = part_of(segment.values, place, ranks_);
    const float* const sum = segment_at(place, segment.number) + (part.data() - segment.values.data());
    if (place != place_) std::copy(sum, sum + part.size(), part.data());
  }
  publish(buffer_of(place_).taken, segment.number + 1);
}

}  // namespace eave
