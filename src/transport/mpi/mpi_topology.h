// Finds out how the ranks of a job lie: which ranks share a host, memory that they share, and how fast the links
// between hosts are. The speed of the links decides how sums and requests are cut.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "eave/slice.h"
#include "transport/core/shared_memory.h"
#include "transport/mpi/mpi_messages.h"

namespace eave {

// Collective over `communicator`. For each rank, the lowest rank that it shares memory with.
std::vector<int> hosts_of_ranks(MPI_Comm communicator);

// Collective over `communicator`. `host`: a number that tells this rank's host from the others, not negative. All ranks
// of a host get nullptr if the host has only one rank, or if one of them cannot get the memory. Ranks in separate
// containers cannot.
std::unique_ptr<SharedMemory> share_memory_of_host(MPI_Comm communicator, int host, std::size_t bytes);

// How sums and requests are cut.
struct MpiChunkSizes {
  std::size_t part;  // values per message
  // Segments of twice so many bytes are in flight, but at least 2 and at most MpiWire's 13.
  std::size_t in_flight_bytes;
  std::size_t request;  // most values per request
};

MpiChunkSizes fast_link_chunks();  // for links that are not slow, and within a host
MpiChunkSizes slow_link_chunks();

// Collective. `sum` adds up values over all ranks by messages of slow_link_chunks(), whatever the hosts. If there are
// several hosts, the ranks time some sums of 128 KiB and agree on the sizes that suit the slowest rank. This takes some
// 50 ms at 100 Mbit/s. More than 256 ranks take fast_link_chunks() without a test, because such short parts would
// measure the cost of messages, not the links.
MpiChunkSizes agree_on_chunk_sizes(MpiMessages& messages, int hosts, const std::function<void(Slice)>& sum);

}  // namespace eave
