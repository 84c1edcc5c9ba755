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

// A sum goes in segments, each through three phases, several under way at once. Every rank has a desk in the memory,
// with room for some segments:
//   contribute   copies what others add up of its segment onto its desk
//   sum          rank j adds up the j-th part of all, in rank order ((x0 + x1) + x2) + …, onto its own desk: there its
//                own part's place is free
//   take         copies the sums of the others from their desks
// How far a rank has come it writes on its desk, where others look, and rings for those that wait. Each value is copied
// twice and summed once, by nobody but the ranks: messages within a host copy as often and cost the calls into MPI and
// the kernel too.
//
// A rank whose slice has another length is not waited for in vain by chance: what it contributes does not count, so
// both wait, as they would for each other's messages, until somebody notices.
class HostSum {
 public:
  // What a waiting rank does before it sleeps, and how long it may, unless others get on before. `is_first`: of a wait.
  using Pause = std::function<std::chrono::nanoseconds(bool is_first)>;

  static std::size_t bytes_for(int ranks);

  // `memory`: bytes_for(ranks), zeros at the beginning, aligned to 64 bytes, the same for all and lent. `place`: this
  // rank's number among them.
  HostSum(std::span<std::byte> memory, int place, int ranks, Pause pause);

  // All of them call one of these, in the same order. Returns when this rank has all sums and nobody needs its slice.
  void all_reduce_sum(Slice values);
  // Of slices that all ranks can write: `values` are this rank's, rank j's lie `stride` * (j - this rank's place)
  // values behind them. Rank j adds up the j-th part of all and writes it to all: nothing is copied. `at`: the same on
  // all, whatever it means; where it differs all wait as for another length.
  void sum_in_place(Slice values, std::ptrdiff_t stride, std::uint64_t at);

 private:
  struct Desk;
  struct Segment {
    Slice values;
    std::uint64_t number;  // since the beginning
    std::uint64_t length;  // of the slice it belongs to
  };

  Desk& desk(int place) const;
  float* room(int place, std::uint64_t number) const;    // for a segment
  void tell(std::uint64_t& count, std::uint64_t value);  // on this rank's desk
  template <class Ready>
  void wait_for_others(const Ready& ready);
  void contribute(const Segment& segment);
  void sum(const Segment& segment);
  void take(const Segment& segment);
  void add_up_in_place(Slice part, std::ptrdiff_t stride) const;

  const std::span<std::byte> memory_;
  const int place_, ranks_;
  const Pause pause_;
  std::uint64_t next_ = 0;  // segment
};

}  // namespace eave
