// Memory that the ranks of each host share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "transport/shared_memory.h"

namespace eave {

// All ranks of `communicator` call it. `host`: some number of this rank's host, not negative. nullptr on all ranks of a
// host that has one rank only, and where one of them cannot have the memory, as in containers apart.
std::unique_ptr<SharedMemory> share_memory_of_host(MPI_Comm communicator, int host, std::size_t bytes);

}  // namespace eave
