// Every call of MPI goes through EAVE_MPI.
#pragma once

#include <mpi.h>

namespace eave {

// Throws unless `result` is MPI_SUCCESS: Error(kInternal) when ranks are out of step (a message is longer than the
// receiver expects), otherwise Error(kResource). The message names the statement, its place and MPI's own text.
void check_mpi(int result, const char* statement, const char* file, int line);

}  // namespace eave

#define EAVE_MPI(statement) ::eave::check_mpi((statement), #statement, __FILE__, __LINE__)
