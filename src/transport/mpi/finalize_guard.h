// Notices that a program calls MPI_Finalize while eave still uses MPI.
#pragma once

#include <mpi.h>

namespace eave {

// While it lives, MPI_Finalize ends this process with kUsage and a message that says what to call first. Without it the
// process would crash in eave's threads or at its exit. MPI deletes the attributes of MPI_COMM_SELF before all else
// that MPI_Finalize does (MPI 4.0, section 11.2.4).
class FinalizeGuard {
 public:
  FinalizeGuard();
  ~FinalizeGuard();
  FinalizeGuard(const FinalizeGuard&) = delete;

 private:
  bool is_over_ = false;  // the value of the attribute points here
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace eave
