// The owner's side of an asynchronous center: the shards that a rank keeps, and in which order workers meet them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "communicator/center_layout.h"
#include "eave/device.h"
#include "eave/transport.h"
#include "transport/codec.h"

namespace eave {

// Lets a worker's message meet one shard; the message becomes the reply, in place. `vectors` are the shard's parts of
// the center and whatever else the method keeps beside it; `exchanges`: of this shard, before this one.
using CenterRule = std::function<void(std::span<const Slice> vectors, Slice message, std::int64_t exchanges)>;

// Each shard takes the workers' messages one after another: as they come, in turns 0, 1, 2 …, or in a given order.
struct ExchangeOrder {
  enum class Kind { kFree, kRoundRobin, kReplay };
  Kind kind = Kind::kFree;
  int workers = 1;
  std::int64_t exchanges = 0;               // of each shard in this run; 0: not known
  std::int64_t exchanges_before = 0;        // of each shard, in the run that this one resumes
  bool is_kept = true;                      // for order_bytes()
  std::span<const std::uint16_t> replay{};  // [shards of the center][exchanges]: the worker whose turn it is
};

// Called by the transport, one call at a time. Everything else only while no worker has a request in flight.
class CenterShards final : public Service {
 public:
  // `vectors` are as large as the parameters; the kept parts are copied, to host memory that `device` copies fast. With
  // a codec, messages and replies are encoded.
  CenterShards(const CenterLayout& layout, int rank, Device& device, const std::vector<ConstSlice>& vectors,
               CenterRule rule, const ExchangeOrder& order, std::shared_ptr<const Codec> codec);

  bool answer(int from, std::int64_t key, Slice values) override;

  // The kept part of each vector.
  ConstSlice kept(std::size_t vector) const { return kept_[vector].slice(); }
  // Of every kept shard, the workers in the order of their exchanges, shard after shard: two bytes each.
  std::string order_bytes() const;
  // How often a worker found so many exchanges of others since its own last one, of the center's first shard: empty
  // where that is kept elsewhere. The last entry counts all from there on.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }

 private:
  struct Shard {
    std::vector<Slice> vectors;
    std::int64_t exchanges = 0;        // so far
    std::vector<std::uint16_t> order;  // of them, where it is kept
  };
  void meet(Shard& shard, Slice values, std::int64_t exchanges);
  bool is_turn_of(int worker, std::size_t shard) const;
  void count_staleness(int worker, std::int64_t exchanges);

  CenterRule rule_;
  ExchangeOrder order_;
  const std::shared_ptr<const Codec> codec_;
  Buffer decoded_;     // with a codec: a message
  std::size_t first_;  // of the kept shards
  std::vector<Buffer> kept_;
  std::vector<Shard> shards_;
  std::vector<std::int64_t> last_exchange_, staleness_;
};

}  // namespace eave
