#include "transport/mpi/mpi_shared_memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "transport/mpi/mpi_check.h"

namespace eave {
namespace {

// Collective among the ranks of a host. The first of them makes the memory.
std::unique_ptr<SharedMemory> share(MPI_Comm host, std::size_t bytes) {
  int rank = 0;
  EAVE_MPI(MPI_Comm_rank(host, &rank));
  std::array<char, 64> address{};
  std::unique_ptr<SharedMemory> memory;
  if (rank == 0) memory = SharedMemory::create(bytes);
  if (memory) memory->address().copy(address.data(), address.size() - 1);
  EAVE_MPI(MPI_Bcast(address.data(), static_cast<int>(address.size()), MPI_CHAR, 0, host));
  if (rank != 0) memory = SharedMemory::open(address.data(), bytes);
  const int has = memory ? 1 : 0;
  int all_have = 0;
  EAVE_MPI(MPI_Allreduce(&has, &all_have, 1, MPI_INT, MPI_MIN, host));
  return all_have ? std::move(memory) : nullptr;
}

}  // namespace

std::unique_ptr<SharedMemory> share_memory_of_host(MPI_Comm communicator, int host, std::size_t bytes) {
  MPI_Comm of_host = MPI_COMM_NULL;
  int rank = 0, size = 0;
  EAVE_MPI(MPI_Comm_rank(communicator, &rank));
  EAVE_MPI(MPI_Comm_split(communicator, host, rank, &of_host));
  EAVE_MPI(MPI_Comm_set_errhandler(of_host, MPI_ERRORS_RETURN));
  EAVE_MPI(MPI_Comm_size(of_host, &size));
  std::unique_ptr<SharedMemory> memory = size > 1 ? share(of_host, bytes) : nullptr;
  EAVE_MPI(MPI_Comm_free(&of_host));
  return memory;
}

}  // namespace eave
