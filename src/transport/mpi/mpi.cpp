// The transport `mpi`: ranks are processes that an MPI launcher started.
#include "eave/job.h"
#include "transport/mpi/mpi_job.h"

namespace eave {

TransportKind describe_transport_mpi() {
  return {"mpi", "ranks started by mpirun or srun; they sum within each host first, then between hosts", true,
          [](int, const auto& body) { return run_mpi_job(body, {.name = "mpi"}); }};
}

}  // namespace eave
