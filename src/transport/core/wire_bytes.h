// The bytes that one rank sends in a bandwidth-optimal algorithm.
#pragma once

#include <cstddef>

#include "eave/transport.h"
#include "transport/codecs/codec.h"

namespace eave {

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
