// How sums and requests are cut into messages, which the speed of the links between hosts decides.
#pragma once

#include <cstddef>
#include <functional>

#include "eave/slice.h"

namespace eave {

// How sums and requests are cut.
struct ChunkSizes {
  std::size_t part;  // values per message
  // Segments of twice so many bytes are in flight, but at least 2 and at most MessageWire's 13.
  std::size_t in_flight_bytes;
  std::size_t request;  // most values per request
  bool link_is_slow;    // so the link, not the processors, limits a sum, and checks for messages may be rare
};

ChunkSizes fast_link_chunks();    // for links that are not slow, and within a host
ChunkSizes medium_link_chunks();  // for links of some 1 Gbit/s
ChunkSizes slow_link_chunks();

// Collective among `ranks` ranks. `sum` adds up values over all ranks by messages of slow_link_chunks(), whatever the
// hosts. `largest` returns the largest number that any rank passes. If there are several hosts, the ranks time some
// sums of 128 KiB. If these are not clearly slow, the ranks also time sums of 1 MiB, which tell a fast link on a busy
// host from one of 1 Gbit/s. All take the sizes that suit the slowest rank. This takes some 50 ms at 100 Mbit/s, and 30
// ms at 1 Gbit/s. More than 256 ranks take fast_link_chunks() without a test, because such short parts would measure
// the cost of messages, not the links.
ChunkSizes agree_on_chunk_sizes(int ranks, int hosts, const std::function<void(Slice)>& sum,
                                const std::function<double(double)>& largest);

}  // namespace eave
