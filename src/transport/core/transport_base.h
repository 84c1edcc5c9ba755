// The parts that all implementations of Transport share: checks of arguments, the service of a rank that is alone,
// and the bytes of operations.
// The checks throw Error(kInternal) if a caller breaks the contract.
#pragma once

#include <span>
#include <vector>

#include "eave/device.h"
#include "eave/transport.h"
#include "transport/codecs/codec.h"

namespace eave {

// 0 … size − 1.
std::vector<int> all_ranks(int size);

// Throws unless `ranks` is empty, or ascends within 0 … size − 1 and contains `rank`.
void check_group(std::span<const int> ranks, int rank, int size);

// Throws unless the residual has as many values as the slice.
void check_compression(const Compression& compression, ConstSlice values);

// Throws unless every owner is one of `size` ranks.
void check_owners(std::span<const ServiceRequest> requests, int size);

// The service of a rank by itself. The device's thread, which sends the requests, answers them at once.
class SingleRankService {
 public:
  // Values may lie in this device's memory afterwards. Services work in host memory.
  void attach(Device& device);
  void detach() noexcept;
  void serve(Service* service) { service_ = service; }
  // Returns when all requests are answered. Throws Error(kInternal) if there is no service, or if a request never gets
  // its turn.
  void request(std::span<const ServiceRequest> requests);

 private:
  bool answer(const ServiceRequest& request);

  Service* service_ = nullptr;
  Device* device_ = nullptr;
  Buffer staged_;
  std::vector<const ServiceRequest*> open_;  // not answered yet
};

// The bytes that one rank sends in a bandwidth-optimal algorithm.
//
// Reduce-scatter and all-gather, each of which sends (p−1)/p of the values. codec: nullptr if values travel unencoded.
inline double all_reduce_wire_bytes(std::size_t count, int ranks, const Codec* codec = nullptr) {
  const std::size_t bytes = codec ? encoded_bytes(*codec, count) : count * sizeof(float);
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes);
}

// Scatter and all-gather, as the mean over ranks.
inline double broadcast_wire_bytes(std::size_t count, int ranks) {
  return 1.0 * (ranks - 1) / ranks * static_cast<double>(count * sizeof(float));
}

// `bytes`: the length of this rank's text; with kFirstToAll, of rank 0's text.
inline double text_wire_bytes(std::size_t bytes, int rank, int ranks, TextRoute route) {
  const double others = ranks - 1.0, all = static_cast<double>(bytes);
  if (route == TextRoute::kAllToAll) return others * all;
  if (route == TextRoute::kFirstToEach) return rank == 0 && ranks > 1 ? all : 0;
  return route == TextRoute::kAllToFirst ? (rank == 0 ? 0 : all) : others / ranks * all;
}

}  // namespace eave
