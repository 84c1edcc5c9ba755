// A worker's message to a center in shards, encoded.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "communicator/center_layout.h"
#include "eave/device.h"
#include "transport/codec.h"

namespace eave {

// Of a request for so many values, in floats; codec nullptr: as they are.
std::size_t message_size(const Codec* codec, std::size_t values);

// Without a codec there is nothing in here. Encoding is the host's: from and to another device's memory it blocks.
class EncodedMessage {
 public:
  explicit EncodedMessage(std::shared_ptr<const Codec> codec) : codec_(std::move(codec)) {}

  explicit operator bool() const { return codec_ != nullptr; }
  void begin(const CenterLayout& layout, Device& device, std::size_t size);
  // What a request carries: bytes in the place of floats.
  Slice shard(std::size_t shard) { return shards_[shard]; }
  void encode(Slice message);  // whole
  void decode(Slice message);

 private:
  template <class Visit>
  void visit_shards(Slice message, Visit visit);

  std::shared_ptr<const Codec> codec_;
  const CenterLayout* layout_ = nullptr;
  Device* device_ = nullptr;
  Buffer encoded_, staged_;  // the latter where messages lie in another device's memory
  std::vector<Slice> shards_;
};

}  // namespace eave
