// Memory that the ranks of each host share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "transport/threads/shared_memory.h"

namespace eave {

// Collective over `communicator`. `host`: a number that tells this rank's host from the others, not negative. All ranks
// of a host get nullptr if the host has only one rank, or if one of them cannot get the memory. Ranks in separate
// containers cannot.
std::unique_ptr<SharedMemory> share_memory_of_host(MPI_Comm communicator, int host, std::size_t bytes);

}  // namespace eave
