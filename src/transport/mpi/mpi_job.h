// Runs this process as a rank of an MPI job, from MPI_Init to MPI_Finalize.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "eave/transport.h"

namespace eave {

struct MpiUse {
  std::string name;          // of the transport
  bool sums_by_host = true;  // false: sums in rank order, whatever the hosts
  bool gpu_messages = true;  // messages from and to GPU memory, if this MPI accepts it
  std::chrono::milliseconds start_limit = std::chrono::minutes(1);  // of StartTimeout
};

// TransportKind::run for transports between processes.
int run_mpi_job(const std::function<void(Transport&)>& body, const MpiUse& use);

}  // namespace eave
