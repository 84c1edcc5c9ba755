#include "transport/mpi/finalize_guard.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "transport/core/failure.h"
#include "transport/job/launchers.h"
#include "transport/mpi/mpi_library.h"

namespace eave {
namespace {

int end_process(MPI_Comm, int, void* is_over, void*) {
  if (*static_cast<const bool*>(is_over)) return MPI_SUCCESS;
  const int rank = rank_by_launcher();
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(2));  // rank 0 ends the job, if it calls this too
  print_failure({ExitCode::kUsage,
                 "this program calls MPI_Finalize while eave still uses MPI: call eave_stop on all ranks before it, in "
                 "Python eave.stop()",
                 false},
                rank, 2);
  std::_Exit(static_cast<int>(ExitCode::kUsage));
}

}  // namespace

FinalizeGuard::FinalizeGuard() {
  EAVE_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_process, &key_, nullptr));
  EAVE_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key_, &is_over_));
}

FinalizeGuard::~FinalizeGuard() {
  is_over_ = true;
  if (!mpi_is_running()) return;
  MPI_Comm_delete_attr(MPI_COMM_SELF, key_);
  MPI_Comm_free_keyval(&key_);
}

}  // namespace eave
