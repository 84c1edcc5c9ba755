#include <cstdlib>
#include <string>

#include "eave/check.h"
#include "eave/transport.h"

namespace eave {

bool started_by_launcher() {
  // Open MPI's mpirun and anything that speaks PMIx (srun --mpi=pmix); MPICH's mpiexec and anything that speaks PMI.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK"})
    if (std::getenv(name)) return true;
  return false;
}

// In a batch script itself SLURM_STEP_NUM_TASKS is not set, whatever the job has.
int tasks_without_mpi() {
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return tasks && !started_by_launcher() ? std::atoi(tasks) : 0;
}

Error refusal_of_tasks(int tasks) {
  return {ExitCode::kPeerLost, "Slurm started " + std::to_string(tasks) +
                                   " tasks, and none of them finds an MPI: start them with srun --mpi=pmix, or pmi2 "
                                   "(srun --mpi=list says which there are), or with mpirun"};
}

int slurm_task() {
  const char* const task = std::getenv("SLURM_PROCID");
  return task ? std::atoi(task) : 0;
}

}  // namespace eave
