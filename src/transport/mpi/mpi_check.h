// The check that every call of MPI goes through: EAVE_MPI.
#pragma once

#include <mpi.h>

namespace eave {

// Returns if `result` is MPI_SUCCESS. If a message is longer than its receive, ranks are out of step: throws
// Error(kInternal). Otherwise throws Error(kResource). The message names the statement, its place and MPI's own text.
void check_mpi(int result, const char* statement, const char* file, int line);

}  // namespace eave

#define EAVE_MPI(statement) ::eave::check_mpi((statement), #statement, __FILE__, __LINE__)
