// The transport `mpi-staged`: as mpi, but values in GPU memory always go through host memory.
#include "eave/job.h"
#include "transport/mpi/mpi_job.h"

namespace eave {
namespace {

constexpr const char* kMpiStaged = "mpi-staged";

int run_mpi_staged(int, const std::function<void(Transport&)>& body) {
  return run_mpi_job(body, {.name = kMpiStaged, .gpu_messages = false});
}

}  // namespace

TransportKind describe_transport_mpi_staged() {
  return {kMpiStaged, "as mpi, but GPUs never send to GPUs directly, even if MPI is CUDA-aware", true, run_mpi_staged};
}

}  // namespace eave
