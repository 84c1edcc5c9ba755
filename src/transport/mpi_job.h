// The rank that an MPI launcher made this process, from MPI_Init to MPI_Finalize.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "eave/transport.h"

namespace eave {

struct MpiUse {
  std::string name;          // of the transport
  bool sums_by_host = true;  // else in rank order whatever the hosts
  bool gpu_messages = true;  // from and to a GPU's memory where this MPI takes it
  std::chrono::milliseconds start_limit = std::chrono::minutes(1);  // StartWatch's
};

// TransportKind::run of transports between processes.
int run_mpi_job(const std::function<void(Transport&)>& body, const MpiUse& use);

}  // namespace eave
