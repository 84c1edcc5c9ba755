// The owner's side of an asynchronous center: the shards that a rank keeps, and the order in which workers meet them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "communicator/center/center_layout.h"
#include "eave/device.h"
#include "eave/transport.h"
#include "transport/codecs/codec.h"

namespace eave {

// The size of a request that carries `values` values, in floats. codec nullptr: not compressed.
std::size_t message_size(const Codec* codec, std::size_t values);

// Applies a worker's message to one shard and replaces the message by the reply. `vectors` are the shard's parts of the
// center and of the other vectors that the method keeps beside it. `exchanges` counts the exchanges of this shard
// before this one.
using CenterRule = std::function<void(std::span<const Slice> vectors, Slice message, std::int64_t exchanges)>;

// Each shard handles the workers' messages one after another: as they arrive (kFree), in turns 0, 1, 2 … (kRoundRobin),
// or in a logged order (kReplay).
struct ExchangeOrder {
  enum class Kind { kFree, kRoundRobin, kReplay };
  Kind kind = Kind::kFree;
  int workers = 1;
  std::int64_t exchanges = 0;               // exchanges of each shard in this run; 0: not known
  std::int64_t exchanges_before = 0;        // exchanges of each shard in the run that this one resumes
  bool is_kept = true;                      // the owner logs the order, for order_bytes()
  std::span<const std::uint16_t> replay{};  // [shards of the center][exchanges]: the worker whose turn it is
};

// The transport calls answer(), one call at a time. Call the other functions only while no worker has a request in
// flight.
class CenterShards final : public Service {
 public:
  // `vectors` are as large as the parameters. The constructor copies the parts that this rank keeps to host memory from
  // which `device` copies fast. With a codec, messages and replies are encoded.
  CenterShards(const CenterLayout& layout, int rank, Device& device, const std::vector<ConstSlice>& vectors,
               CenterRule rule, const ExchangeOrder& order, std::shared_ptr<const Codec> codec);

  bool answer(int from, std::int64_t key, Slice values) override;

  // The part of a vector that this rank keeps.
  ConstSlice kept(std::size_t vector) const { return kept_[vector].slice(); }
  // The workers in the order of their exchanges, two bytes each, for one kept shard after another.
  std::string order_bytes() const;
  // Entry k counts how often k exchanges of other workers lay between two exchanges of one worker, at the center's
  // first shard. The last entry counts k and more. Empty if another rank keeps that shard.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }

 private:
  struct Shard {
    std::vector<Slice> vectors;
    std::int64_t exchanges = 0;        // so far
    std::vector<std::uint16_t> order;  // the worker of each exchange, if is_kept
  };
  void meet(Shard& shard, Slice values, std::int64_t exchanges);
  bool is_turn_of(int worker, std::size_t shard) const;
  void count_staleness(int worker, std::int64_t exchanges);

  CenterRule rule_;
  ExchangeOrder order_;
  const std::shared_ptr<const Codec> codec_;
  Buffer decoded_;     // with a codec: a decoded message
  std::size_t first_;  // index of the first kept shard
  std::vector<Buffer> kept_;
  std::vector<Shard> shards_;
  std::vector<std::int64_t> last_exchange_, staleness_;
};

}  // namespace eave
