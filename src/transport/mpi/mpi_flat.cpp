// The transport `mpi-flat`: as mpi, but sums always add up in rank order, whatever hosts the ranks run on.
#include "eave/job.h"
#include "transport/mpi/mpi_job.h"

namespace eave {
namespace {

constexpr const char* kMpiFlat = "mpi-flat";

int run_mpi_flat(int, const std::function<void(Transport&)>& body) {
  return run_mpi_job(body, {.name = kMpiFlat, .sums_by_host = false});
}

}  // namespace

TransportKind describe_transport_mpi_flat() {
  return {kMpiFlat, "as mpi, but ranks sum in rank order, regardless of their hosts", true, run_mpi_flat};
}

}  // namespace eave
