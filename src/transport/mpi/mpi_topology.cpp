#include "transport/mpi/mpi_topology.h"

#include "transport/mpi/mpi_library.h"

namespace eave {

std::vector<int> hosts_of_ranks(MPI_Comm communicator) {
  int rank = 0, size = 0, lowest = 0;
  EAVE_MPI(MPI_Comm_rank(communicator, &rank));
  EAVE_MPI(MPI_Comm_size(communicator, &size));
  MPI_Comm host = MPI_COMM_NULL;
  EAVE_MPI(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host));
  EAVE_MPI(MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, host));
  EAVE_MPI(MPI_Comm_free(&host));
  std::vector<int> hosts(static_cast<std::size_t>(size));
  EAVE_MPI(MPI_Allgather(&lowest, 1, MPI_INT, hosts.data(), 1, MPI_INT, communicator));
  return hosts;
}

}  // namespace eave
