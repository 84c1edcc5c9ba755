// The rank that an MPI launcher made this process, from MPI_Init to MPI_Finalize.
#pragma once

#include <functional>

#include "eave/transport.h"

namespace eave {

enum class MpiSums { kByHost, kInRankOrder };

// TransportKind::run of transports between processes.
int run_mpi_job(const std::function<void(Transport&)>& body, MpiSums sums);

}  // namespace eave
