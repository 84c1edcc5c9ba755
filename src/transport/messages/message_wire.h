// The wire between processes, made of point-to-point messages.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/core/backoff.h"
#include "transport/core/operation.h"
#include "transport/core/shared_memory.h"
#include "transport/core/wire.h"
#include "transport/messages/chunk_sizes.h"
#include "transport/messages/message_texts.h"
#include "transport/messages/messages.h"
#include "transport/messages/requests.h"
#include "transport/sum/compressed_sum.h"
#include "transport/sum/hierarchical_sum.h"
#include "transport/sum/shared_memory_sum.h"

namespace eave {

struct MessageWireSettings {
  std::string name = "mpi";  // of the transport
  // Values per part of a segment; 0: the wire chooses by the speed of the links between hosts.
  std::size_t part = 0;
  // hosts[r]: a number that tells rank r's host from the others. Empty: each rank has its own host.
  std::vector<int> hosts = {};
  bool sums_by_host = true;           // false: messages in rank order, whatever the hosts
  bool takes_gpu_memory = false;      // whether messages may lie in GPU memory
  ControlChannel* control = nullptr;  // not owned
};

// All-reduce: a reduce-scatter, then an all-gather, each by direct messages between all pairs. Rank j adds up the j-th
// part of all ranks in rank order and sends the sum to all. This costs 2(p−1)/p·M bytes per rank and two message times.
// The bits do not depend on the length of a part.
//
// A slice is cut into segments of p parts. Several segments are in flight at once, and those of the next sum follow
// those of the previous sum directly. On slow links, parts are short and few are in flight (chunk_sizes.h). If there
// are several hosts, the constructor finds out by a few sums whether the links are slow.
//
// Why no non-blocking collective of the MPI library: the library chooses the order of additions. Waiting for such a
// collective at once is also slower than the blocking call. Why no blocking collective: its thread keeps a whole core
// busy until the last rank comes.
//
// If hosts have several ranks each, a sum takes two levels (HierarchicalSum). First the ranks of each host add up in
// rank order. Then one rank of each host adds up the hosts' sums, in the hosts' order, for its share of the values. So
// a host sends 2(h−1)/h·M bytes to the h − 1 other hosts in total, not for each of its ranks. Within a host, MPI uses
// shared memory. If the ranks of a sum are exactly all ranks of one host, the sum needs no messages: SharedMemorySum.
//
// All waiting is one loop: test the messages, answer requests that have come, sleep. A message ends the sleep if the
// library of messages can do that. In SharedMemorySum, a rank of the same host ends it (EventCount).
class MessageWire : public Wire, public ByteExchanger {
 public:
  // Collective over the ranks of `messages`, which nobody else uses. Ranks whose sums_by_host or takes_gpu_memory
  // differ can still exchange texts, so they can report the difference.
  explicit MessageWire(std::unique_ptr<Messages> messages, MessageWireSettings settings = {});

  int rank() const override { return messages_->rank(); }
  int size() const override { return messages_->size(); }
  std::string name() const override { return settings_.name; }
  // nullptr if sums take two levels: between devices, sums have one level.
  ByteExchanger* exchanger_in(DeviceKind kind) override {
    const bool reaches = settings_.takes_gpu_memory && kind == DeviceKind::kCuda;
    return reaches && !(hierarchical_sum_ && hierarchical_sum_->arrange(all_)) ? this : nullptr;
  }

  void all_reduce_sum(Slice values, std::span<const int> ranks = {}) override;
  void all_reduce_sums(SumQueue& queue) override;
  void sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) override;
  void broadcast(Slice values, int root) override;
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override;
  Slice lend(std::size_t size) override;
  std::size_t bytes_of_others() const override { return bytes_of_others_; }
  std::unique_ptr<Wire> split(int part) override;
  void serve(Service* service) override;
  void request(std::span<const ServiceRequest> requests) override;
  std::optional<std::size_t> request_length() const override { return chunk_sizes_.request; }
  void withdraw() noexcept override { server_.withdraw(); }
  std::optional<std::chrono::nanoseconds> poll_requests() override;
  bool can_rest() const override { return messages_->ends_pauses(); }
  void rest(std::chrono::nanoseconds at_most) override { messages_->pause(at_most); }
  void wake() noexcept override { messages_->wake(); }
  ControlChannel* control() override { return settings_.control; }
  void abort(ExitCode code) noexcept override { messages_->abort(code); }

  void start(std::size_t number, const ByteExchange& exchange) override;
  void finish(std::size_t number) override { wait_for(exchanges_[number]); }

 private:
  using Bytes = Messages::Bytes;
  using ConstBytes = Messages::ConstBytes;
  using Requests = Messages::Requests;
  // The messages of one phase of a segment. They bring other ranks' shares of the part that this rank adds up, or
  // finished parts.
  struct Stage {
    std::vector<float> received;
    Requests requests;
    std::uint32_t history = 0;  // of the messages' tags
  };
  // The longest wait for an event that ends the wait: one of this host's ranks, when this rank has no requests to
  // answer, or a message.
  static constexpr std::chrono::milliseconds kLongestWait{100};
  struct Slot {  // one segment in flight
    Slice segment;
    bool ends_sum = false;
    std::array<Stage, 4> stages;  // one per phase
    Stage& operator[](std::size_t phase) { return stages[phase]; }
  };
  // The ranks of a phase. A place is an index into `ranks`. The first `owners` places add up one part each.
  struct Team {
    std::span<const int> ranks;
    int place;  // of this rank
    int owners;
    int size() const { return static_cast<int>(ranks.size()); }
    int rank_at(int other) const { return ranks[static_cast<std::size_t>(other)]; }
    bool owns() const { return place < owners; }
  };

  class CountedSums;

  Team team_of(std::span<const int> ranks) const;
  // Counts a collective call of all ranks in history_, before its messages.
  void count_call(Operation::Verb verb, std::size_t bytes = 0, int root = -1) noexcept;
  template <class... Phases>
  void in_segments(SumQueue& queue, int parts, Phases... phases);
  void prepare_slots();
  void share_memory();
  std::unique_ptr<SharedMemory> share_memory_of_host(std::size_t bytes);
  void carry_from_first(Bytes bytes, std::span<const int> ranks);
  double largest(double mine, std::span<const int> ranks);
  void sum_on_host(Slice values);
  void sum_by_messages(SumQueue& queue, const Team& team);
  void sum_by_host(SumQueue& queue);
  void hand_out(Slice segment, const Team& team, int root, Stage& stage);
  void scatter(Slice segment, const Team& team, Stage& stage);
  void sum(Slice segment, const Team& team, Stage& stage);
  void gather(Slice segment, const Team& team, int root, Stage& stage);

  // Empty bytes are not sent.
  void send(ConstBytes bytes, int to, Messages::Tag tag, Requests& requests);
  void receive(Bytes bytes, int from, Messages::Tag tag, Requests& requests);
  void wait_for(Requests& requests);
  void wait_after(bool moved);  // sleeps only if nothing moved
  // `segments` are in flight.
  bool pause_for(std::size_t segments, bool may_nap);
  std::chrono::nanoseconds pause_length() const;

  const std::unique_ptr<Messages> messages_;
  RequestServer server_;
  Requester requester_;
  Backoff backoff_;
  const MessageWireSettings settings_;
  ChunkSizes chunk_sizes_;
  std::optional<HierarchicalSum> hierarchical_sum_;
  std::vector<int> of_host_;  // the ranks of this host
  std::unique_ptr<SharedMemory> memory_;
  std::optional<SharedMemorySum> shared_memory_sum_;  // over all ranks of this host
  // The memory of one call of lend. The ranks of the host have their values one behind the other, `stride` values
  // apart.
  struct Lent {
    std::unique_ptr<SharedMemory> memory;
    Slice mine;
    std::size_t stride;
  };
  std::vector<Lent> lent_;
  std::atomic<std::size_t> bytes_of_others_{0};
  std::vector<int> all_;       // all ranks
  std::vector<bool> serving_;  // by rank: whether it has a service
  std::vector<Slot> slots_;
  std::uint32_t history_ = 0;  // of the calls of all ranks
  MessageTexts texts_;
  CompressedSum compressed_;
  std::vector<Requests> exchanges_;  // in flight, by number
};

}  // namespace eave
