// Messages between processes, by the point-to-point part of MPI-3.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "transport/mpi_messages.h"
#include "transport/mpi_requester.h"
#include "transport/mpi_server.h"
#include "transport/patience.h"
#include "transport/wire.h"

namespace eave {

// Allreduce: reduce-scatter, then all-gather, each by direct messages between all pairs. Rank j adds up the j-th part
// of all ranks in rank order and sends the sum to all: 2(p−1)/p·M bytes per rank, two message times, and the same bits
// whatever the length of a part. A slice goes in segments of p parts; several segments are under way at once.
//
// Why not a non-blocking collective of the library: the order of its sums is its own affair, and waiting for one at
// once is slower than the blocking call. Why not the blocking one: a thread in it burns a whole core until the last
// rank comes.
//
// All waiting is one loop: look whether messages have moved, have requests answered that have come, sleep.
class MpiWire final : public Wire {
 public:
  // Just below the 64 KiB up to which Open MPI sends over TCP at once. Longer messages, sent both ways, took twice the
  // time.
  static constexpr std::size_t kPart = 15 * 1024;

  // `communicator` is lent, has MPI_ERRORS_RETURN set, and is used by nobody else. `part` is in values.
  explicit MpiWire(MPI_Comm communicator, std::size_t part = kPart);

  int rank() const override { return messages_.rank(); }
  int size() const override { return messages_.size(); }
  std::string name() const override { return "mpi"; }

  void all_reduce_sum(Slice values, std::span<const int> ranks = {}) override;
  void broadcast(Slice values, int root) override;
  std::vector<std::string> all_gather(const std::string& mine) override;
  void serve(Service* service) override;
  void request(std::span<const ServiceRequest> requests) override;
  void withdraw() noexcept override { server_.withdraw(); }
  std::optional<std::chrono::nanoseconds> attend() override;
  void abort(ExitCode code) noexcept override;  // does not return

 private:
  using Bytes = MpiMessages::Bytes;
  using ConstBytes = MpiMessages::ConstBytes;
  using Requests = MpiMessages::Requests;
  // One segment under way: the other ranks' shares of this rank's part, and the requests of both phases.
  struct Slot {
    std::vector<float> received;
    Requests scattering, gathering;
  };
  // Who takes part in an operation. A place is a number in `ranks`.
  struct Team {
    std::span<const int> ranks;
    int place;  // of this rank
    int size() const { return static_cast<int>(ranks.size()); }
    int rank_at(int other) const { return ranks[static_cast<std::size_t>(other)]; }
  };

  Team team_of(std::span<const int> ranks) const;
  template <class Scatter, class Combine, class Gather>
  void in_segments(Slice values, int parts, Scatter scatter, Combine combine, Gather gather);
  void hand_out(Slice segment, int root, Slot& slot);
  void scatter(Slice segment, const Team& team, Slot& slot);
  void sum(Slice segment, const Team& team, Slot& slot);
  void gather(Slice segment, const Team& team, int root, Slot& slot);

  void tell_all(ConstBytes mine, int tag, const std::function<Bytes(int)>& theirs_of);
  // Nothing is no message.
  void send(ConstBytes bytes, int to, int tag, Requests& requests);
  void receive(Bytes bytes, int from, int tag, Requests& requests);
  void wait_for(Requests& requests);

  MpiMessages messages_;
  MpiServer server_;
  MpiRequester requester_;
  Patience patience_;
  const std::size_t part_;
  std::vector<int> all_;       // ranks
  std::vector<bool> serving_;  // by rank
  std::vector<Slot> slots_;
};

}  // namespace eave
