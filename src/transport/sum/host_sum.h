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

// Every rank has a desk in the shared memory, with rooms for some segments. A sum is cut into segments. Each segment
// goes through three phases, and several segments are in flight at once:
//   contribute   copies those parts of its segment onto its desk that other ranks add up
//   sum          rank j adds up the j-th part of all, in rank order ((x0 + x1) + x2) + …, onto its own desk, where the
//                place of its own part is free
//   take         copies the other ranks' sums from their desks
// A rank writes its progress on its desk, where the others read it, and rings a Bell for those that wait. Each value is
// copied twice and summed once, by the ranks themselves. Messages within a host copy as often, and also cost calls into
// MPI and the kernel.
//
// If two ranks sum slices of different lengths, neither accepts the other's contribution. Both wait until somebody
// notices, as they would wait for each other's messages.
class HostSum {
 public:
  // A waiting rank calls it before it sleeps. Returns how long to sleep at most; a ring ends the sleep earlier.
  // `is_first`: whether this is the first pause of the wait.
  using Pause = std::function<std::chrono::nanoseconds(bool is_first)>;

  static std::size_t bytes_for(int ranks);

  // `memory`: bytes_for(ranks) bytes, the same memory for all ranks, aligned to 64 bytes. It begins as zeros, is not
  // owned and must outlive this. `place`: this rank's number among the ranks of the host.
  HostSum(std::span<std::byte> memory, int place, int ranks, Pause pause);

  // All ranks call these two functions in the same order. They return when this rank has all sums and no rank needs its
  // slice any more.
  void all_reduce_sum(Slice values);
  // For slices that all ranks can write. `values` is this rank's slice, and rank j's slice begins `stride` · (j − this
  // rank's place) values behind it. Rank j adds up the j-th part of all slices and writes it to all of them, so nothing
  // is copied. `at`: a number for the place of the slice, the same on all ranks. If it differs, all wait, as for
  // different lengths.
  void sum_in_place(Slice values, std::ptrdiff_t stride, std::uint64_t at);

 private:
  struct Desk;
  struct Segment {
    Slice values;
    std::uint64_t number;  // counted over all sums
    std::uint64_t length;  // of the slice it belongs to
  };

  Desk& desk(int place) const;
  float* room(int place, std::uint64_t number) const;    // where a segment lies on that desk
  void tell(std::uint64_t& count, std::uint64_t value);  // writes on this rank's desk, and rings
  template <class Ready>
  void wait_for_others(const Ready& ready);
  void contribute(const Segment& segment);
  void sum(const Segment& segment);
  void take(const Segment& segment);
  void add_up_in_place(Slice part, std::ptrdiff_t stride) const;

  const std::span<std::byte> memory_;
  const int place_, ranks_;
  const Pause pause_;
  std::uint64_t next_ = 0;  // number of the next segment
};

}  // namespace eave
