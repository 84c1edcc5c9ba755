// Finds out which ranks of an MPI job share a host.
#pragma once

#include <mpi.h>

#include <vector>

namespace eave {

// Collective over `communicator`. For each rank, the lowest rank that it shares memory with.
std::vector<int> hosts_of_ranks(MPI_Comm communicator);

}  // namespace eave
