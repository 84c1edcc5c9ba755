// Messages between processes, by the point-to-point part of MPI-3.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/compressed_sum.h"
#include "transport/host_sum.h"
#include "transport/mpi_messages.h"
#include "transport/mpi_pace.h"
#include "transport/mpi_requester.h"
#include "transport/mpi_server.h"
#include "transport/mpi_texts.h"
#include "transport/patience.h"
#include "transport/shared_memory.h"
#include "transport/sum_levels.h"
#include "transport/wire.h"

namespace eave {

struct MpiWireSettings {
  std::string name = "mpi";           // of the transport
  std::size_t part = 0;               // in values; 0: as suits the links between hosts
  std::vector<int> hosts = {};        // of each rank, some number of its host; empty: all differ
  bool sums_by_host = true;           // else by messages in rank order, whatever the hosts
  bool takes_gpu_memory = false;      // this MPI does, in messages
  ControlChannel* control = nullptr;  // lent
  // Held by whoever calls MPI in this process.
  std::shared_ptr<std::timed_mutex> in_mpi = std::make_shared<std::timed_mutex>();
};

// Allreduce: reduce-scatter, then all-gather, each by direct messages between all pairs. Rank j adds up the j-th part
// of all ranks in rank order and sends the sum to all: 2(p−1)/p·M bytes per rank, two message times, and the same bits
// whatever the length of a part. A slice goes in segments of p parts; several segments are under way at once, those of
// the next sum behind those of the one before. On slow links parts are short and few (mpi_pace.h). Which links are
// slow, ranks of several hosts find out together by a few sums at the beginning.
//
// Why not a non-blocking collective of the library: the order of its sums is its own affair, and waiting for one at
// once is slower than the blocking call. Why not the blocking one: a thread in it burns a whole core until the last
// rank comes.
//
// Where hosts have several ranks each, a sum takes two levels: within each host, in rank order, then between one rank
// of each host, in the hosts' order, each for its share of the values. A host sends 2(h−1)/h·M to h − 1 others then,
// however many ranks it has, and not that for each of them. Within a host MPI uses shared memory. A sum of all ranks of
// one host, and of no others, needs no messages: HostSum.
//
// All waiting is one loop: look whether messages have moved, have requests answered that have come, sleep; in HostSum
// until one of the host rings.
class MpiWire final : public Wire, public ByteExchanger {
 public:
  // `communicator` is lent, has MPI_ERRORS_RETURN set, and is used by nobody else. All of its ranks call it.
  // Ranks that differ in sums_by_host or takes_gpu_memory can still tell each other so by texts.
  explicit MpiWire(MPI_Comm communicator, MpiWireSettings settings = {});

  int rank() const override { return messages_.rank(); }
  int size() const override { return messages_.size(); }
  std::string name() const override { return settings_.name; }
  // Not where sums take two levels: what goes between devices has one.
  ByteExchanger* exchanger_in(DeviceKind kind) override {
    const bool reaches = settings_.takes_gpu_memory && kind == DeviceKind::kCuda;
    return reaches && !(levels_ && levels_->arrange(all_)) ? this : nullptr;
  }

  void all_reduce_sum(Slice values, std::span<const int> ranks = {}) override;
  void all_reduce_sums(SumRow& row) override;
  void sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) override;
  void broadcast(Slice values, int root) override;
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override {
    return texts_.texts(mine, route);
  }
  Slice lend(std::size_t size) override;
  std::size_t bytes_of_others() const override { return bytes_of_others_; }
  std::unique_ptr<Wire> split(int part) override;
  void serve(Service* service) override;
  void request(std::span<const ServiceRequest> requests) override;
  std::optional<std::size_t> request_length() const override { return pace_.request; }
  void withdraw() noexcept override { server_.withdraw(); }
  std::optional<std::chrono::nanoseconds> attend() override;
  ControlChannel* control() override { return settings_.control; }
  void abort(ExitCode code) noexcept override;  // does not return

  void start(std::size_t number, const ByteExchange& exchange) override;
  void finish(std::size_t number) override { wait_for(exchanges_[number]); }

 private:
  using Bytes = MpiMessages::Bytes;
  using ConstBytes = MpiMessages::ConstBytes;
  using Requests = MpiMessages::Requests;
  // Messages that one phase of a segment has asked for: other ranks' shares of what this rank adds up, or finished
  // parts.
  struct Stage {
    std::vector<float> received;
    Requests requests;
  };
  struct Slot {  // one segment under way
    Slice segment;
    bool ends_sum = false;
    std::array<Stage, 4> stages;  // one for each of its phases
    Stage& operator[](std::size_t phase) { return stages[phase]; }
  };
  // Who takes part in a phase. A place is a number in `ranks`; the first `owners` of them add up a part each.
  struct Team {
    std::span<const int> ranks;
    int place;  // of this rank
    int owners;
    int size() const { return static_cast<int>(ranks.size()); }
    int rank_at(int other) const { return ranks[static_cast<std::size_t>(other)]; }
    bool owns() const { return place < owners; }
  };

  Team team_of(std::span<const int> ranks) const;
  template <class... Phases>
  void in_segments(SumRow& row, int parts, Phases... phases);
  void share_memory();
  void sum_on_host(Slice values);
  void sum_by_messages(SumRow& row, const Team& team);
  void sum_by_host(SumRow& row);
  void hand_out(Slice segment, const Team& team, int root, Stage& stage);
  void scatter(Slice segment, const Team& team, Stage& stage);
  void sum(Slice segment, const Team& team, Stage& stage);
  void gather(Slice segment, const Team& team, int root, Stage& stage);

  // Nothing is no message.
  void send(ConstBytes bytes, int to, int tag, Requests& requests);
  void receive(Bytes bytes, int from, int tag, Requests& requests);
  void wait_for(Requests& requests);
  void wait_after(bool moved);  // no longer than it takes to look again, if something did

  MpiMessages messages_;
  MpiServer server_;
  MpiRequester requester_;
  Patience patience_;
  const MpiWireSettings settings_;
  MpiPace pace_;
  MPI_Comm split_ = MPI_COMM_NULL;  // that of this rank's part
  std::optional<SumLevels> levels_;
  std::vector<int> of_host_;  // this host's ranks
  std::unique_ptr<SharedMemory> memory_;
  std::optional<HostSum> host_sum_;  // of all of them
  // What a call of lend gave to each rank of the host, one behind the other.
  struct Lent {
    std::unique_ptr<SharedMemory> memory;
    Slice mine;
    std::size_t stride;
  };
  std::vector<Lent> lent_;
  std::atomic<std::size_t> bytes_of_others_{0};
  std::vector<int> all_;       // ranks
  std::vector<bool> serving_;  // by rank
  std::vector<Slot> slots_;
  MpiTexts texts_;
  CompressedSum compressed_;
  std::vector<Requests> exchanges_;  // under way
};

}  // namespace eave
