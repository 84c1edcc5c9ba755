#include <cstdlib>

#include "eave/transport.h"

namespace eave {

bool started_by_launcher() {
  // Open MPI's mpirun and anything that speaks PMIx (srun --mpi=pmix); MPICH's mpiexec and anything that speaks PMI.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK"})
    if (std::getenv(name)) return true;
  return false;
}

}  // namespace eave
