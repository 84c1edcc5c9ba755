// Sums among the ranks of one host, in memory that they share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "eave/slice.h"

namespace eave {

// Every rank has a buffer in the shared memory, with room for some segments. A sum is cut into segments. Each segment
// goes through three phases, and several segments are in flight at once:
//   contribute   copies those parts of its segment into its buffer that other ranks add up
//   sum          rank j adds up the j-th part of all, in rank order ((x0 + x1) + x2) + …, into its own buffer, where
//   the
//                place of its own part is free
//   collect      copies the other ranks' sums from their buffers
// A rank writes its progress into its buffer, where the others read it, and notifies those that wait (EventCount). Each
// value is copied twice and summed once, by the ranks themselves. Messages within a host copy as often, and also cost
// calls into MPI and the kernel.
//
// If two ranks sum slices of different lengths, or with different histories (Messages::Tag), neither accepts the
// other's contribution. Both wait until somebody notices, as they would wait for each other's messages.
class SharedMemorySum {
 public:
  // A waiting rank calls it before it sleeps. Returns how long to sleep at most; an event ends the sleep earlier.
  // `is_first`: whether this is the first pause of the wait.
  using Pause = std::function<std::chrono::nanoseconds(bool is_first)>;

  static std::size_t bytes_for(int ranks);

  // `memory`: bytes_for(ranks) bytes, the same memory for all ranks, aligned to 64 bytes. It begins as zeros, is not
  // owned and must outlive this. `place`: this rank's number among the ranks of the host.
  SharedMemorySum(std::span<std::byte> memory, int place, int ranks, Pause pause);

  // All ranks call these two functions in the same order. They return when this rank has all sums and no rank needs its
  // slice any more.
  void all_reduce_sum(Slice values, std::uint32_t history = 0);
  // For slices that all ranks can write. `values` is this rank's slice, and rank j's slice begins `stride` · (j − this
  // rank's place) values behind it. Rank j adds up the j-th part of all slices and writes it to all of them, so nothing
  // is copied. `at`: a number for the place of the slice, the same on all ranks. If it differs, all wait, as for
  // different lengths.
  void sum_in_place(Slice values, std::ptrdiff_t stride, std::uint64_t at, std::uint32_t history = 0);

 private:
  struct RankBuffer;
  struct Segment {
    Slice values;
    std::uint64_t number;  // counted over all sums
    std::uint64_t mark;    // of the sum it belongs to
  };

  RankBuffer& buffer_of(int place) const;
  float* segment_at(int place, std::uint64_t number) const;  // where a segment lies in that buffer
  void publish(std::uint64_t& count, std::uint64_t value);   // writes into this rank's buffer, and notifies
  template <class Ready>
  void wait_for_others(const Ready& ready);
  void contribute(const Segment& segment);
  void sum(const Segment& segment);
  void collect(const Segment& segment);
  void add_up_in_place(Slice part, std::ptrdiff_t stride) const;

  const std::span<std::byte> memory_;
  const int place_, ranks_;
  const Pause pause_;
  std::uint64_t next_ = 0;  // number of the next segment
};

}  // namespace eave
