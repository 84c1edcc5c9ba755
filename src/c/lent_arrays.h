// Arrays in memory that the ranks of a host share, for averagers that are opened one after the other.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "eave/transport.h"

namespace eave {

// The arrays that a job's transport has lent (Transport::lend). The transport frees an array only when the job ends. So
// when an averager is closed, its arrays wait here for one that asks for the same size. Used by the session's thread.
class LentArrays {
 public:
  // Collective. As Transport::lend of `transport`, with an array that nobody uses, or else a new one.
  Slice lend(Transport& transport, std::size_t size);
  // Not collective. `values` must be an array from lend(), with no sum in flight that this rank has not queued.
  void give_back(ConstSlice values);

 private:
  struct Lent {
    Slice values;
    bool is_free = false;
  };
  std::vector<Lent> all_;  // in the same order on all ranks
};

// Passes every call on to `inner`. It lends from `arrays`, and gives these arrays back when it is destroyed. Both must
// outlive it.
std::unique_ptr<Transport> make_borrowing_transport(Transport& inner, LentArrays& arrays);

}  // namespace eave
