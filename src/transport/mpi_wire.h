// Messages between processes, by the point-to-point part of MPI-3.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "transport/wire.h"

namespace eave {

// Allreduce: reduce-scatter, then all-gather, each by direct messages between all pairs. Rank j adds up the j-th part
// of all ranks in rank order and sends the sum to all: 2(p−1)/p·M bytes per rank, two message times, and the same bits
// whatever the length of a part. A slice goes in segments of p parts; several segments are under way at once.
//
// Why not a non-blocking collective of the library: the order of its sums is its own affair, and waiting for one at
// once is slower than the blocking call. Why not the blocking one: a thread in it burns a whole core until the last
// rank comes.
class MpiWire final : public Wire {
 public:
  // Just below the 64 KiB up to which Open MPI sends over TCP at once. Longer messages, sent both ways, took twice the
  // time.
  static constexpr std::size_t kPart = 15 * 1024;

  // `communicator` is lent, has MPI_ERRORS_RETURN set, and is used by nobody else. `part` is in values.
  explicit MpiWire(MPI_Comm communicator, std::size_t part = kPart);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string name() const override { return "mpi"; }
  bool reaches(DeviceKind device) const override { return device == DeviceKind::kCpu; }

  void all_reduce_sum(Slice values, std::span<const int> ranks = {}) override;
  void broadcast(Slice values, int root) override;
  std::vector<std::string> all_gather(const std::string& mine) override;
  void serve(Service*) override { throw Error(ExitCode::kInternal, "requests over mpi are not there yet"); }
  void request(std::span<const ServiceRequest>) override { serve(nullptr); }
  void withdraw() noexcept override {}
  void abort(ExitCode code) noexcept override;  // does not return

 private:
  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;
  using Requests = std::vector<MPI_Request>;
  // One segment under way: the other ranks' shares of this rank's part, and the requests of both phases.
  struct Slot {
    std::vector<float> received;
    Requests scattering, gathering;
  };

  Slice part_of(Slice segment, int rank) const;
  template <class Scatter, class Combine, class Gather>
  void in_segments(Slice values, Scatter scatter, Combine combine, Gather gather);
  void hand_out(Slice segment, int root, Slot& slot);
  void scatter(Slice segment, Slot& slot);
  void sum(Slice segment, Slot& slot);
  void gather(Slice segment, int root, Slot& slot);

  void tell_all(ConstBytes mine, int tag, const std::function<Bytes(int)>& theirs_of);
  void send(ConstBytes bytes, int to, int tag, Requests& requests);
  void receive(Bytes bytes, int from, int tag, Requests& requests);
  void wait_for(Requests& requests);
  bool advance(Requests& requests);

  const MPI_Comm communicator_;
  const std::size_t part_;
  int rank_ = 0;
  int size_ = 1;
  // Held around calls of MPI, not while waiting: whoever holds it may call MPI (MPI_THREAD_SERIALIZED).
  std::timed_mutex in_mpi_;
  std::vector<Slot> slots_;
};

}  // namespace eave
