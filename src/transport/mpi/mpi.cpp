// The transport `mpi`: ranks are processes that an MPI launcher started.
#include "eave/job.h"
#include "transport/mpi/mpi_job.h"

namespace eave {
namespace {

constexpr const char* kMpi = "mpi";

int run_mpi(int, const std::function<void(Transport&)>& body) { return run_mpi_job(body, {.name = kMpi}); }

}  // namespace

TransportKind describe_transport_mpi() {
  return {kMpi, "ranks started by mpirun or srun; they sum within each host first, then between hosts", true, run_mpi};
}

}  // namespace eave
