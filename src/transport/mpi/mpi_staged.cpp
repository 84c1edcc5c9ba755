// The transport `mpi-staged`: as mpi, but values in GPU memory always go through host memory.
#include "eave/job.h"
#include "transport/mpi/mpi_job.h"

namespace eave {

TransportKind describe_transport_mpi_staged() {
  return {"mpi-staged", "as mpi, but GPUs never send to GPUs directly, even if MPI is CUDA-aware", true,
          [](int, const auto& body) { return run_mpi_job(body, {.name = "mpi-staged", .gpu_messages = false}); }};
}

}  // namespace eave
