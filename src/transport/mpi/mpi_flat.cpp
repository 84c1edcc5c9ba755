// The transport `mpi-flat`: as mpi, but sums always add up in rank order, whatever hosts the ranks run on.
#include "eave/job.h"
#include "transport/mpi/mpi_job.h"

namespace eave {

TransportKind describe_transport_mpi_flat() {
  return {"mpi-flat", "as mpi, but ranks sum in rank order, regardless of their hosts", true,
          [](int, const auto& body) { return run_mpi_job(body, {.name = "mpi-flat", .sums_by_host = false}); }};
}

}  // namespace eave
