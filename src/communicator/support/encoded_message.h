// The compressed form of a worker's message to a center in shards.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "communicator/center/center_layout.h"
#include "eave/device.h"
#include "transport/codecs/codec.h"

namespace eave {

// The size of a request that carries `values` values, in floats. codec nullptr: not compressed.
std::size_t message_size(const Codec* codec, std::size_t values);

// Without a codec the object is empty. The host encodes and decodes. If messages are in another device's memory, both
// calls block.
class EncodedMessage {
 public:
  explicit EncodedMessage(std::shared_ptr<const Codec> codec) : codec_(std::move(codec)) {}

  explicit operator bool() const { return codec_ != nullptr; }
  void begin(const CenterLayout& layout, Device& device, std::size_t size);
  // The encoded bytes of one shard, which a request carries in place of floats.
  Slice shard(std::size_t shard) { return shards_[shard]; }
  void encode(Slice message);  // the whole message
  void decode(Slice message);

 private:
  template <class Visit>
  void visit_shards(Slice message, Visit visit);

  std::shared_ptr<const Codec> codec_;
  const CenterLayout* layout_ = nullptr;
  Device* device_ = nullptr;
  Buffer encoded_, staged_;  // staged_: a copy in host memory, if messages are in another device's memory
  std::vector<Slice> shards_;
};

}  // namespace eave
