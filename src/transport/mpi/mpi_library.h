// The MPI library that this program runs with, and the check that every call of it goes through: EAVE_MPI.
#pragma once

#include <string>

namespace eave {

// The name and version of MPI, such as "Open MPI v4.1.4"; "" if eave was built without MPI.
std::string mpi_library();

// Whether this process is between MPI_Init and MPI_Finalize.
bool mpi_is_running();

// Whether this MPI sends from and receives into GPU memory. Asks the library at run time (MPIX_Query_cuda_support);
// false if the library lacks that function. Call it after MPI_Init.
bool mpi_takes_gpu_memory();

// Only in builds with MPI. Returns if `result` is MPI_SUCCESS. If a message is longer than its receive, ranks are out
// of step: throws Error(kInternal). Otherwise throws Error(kResource). The message names the statement, its place and
// MPI's own text.
void check_mpi(int result, const char* statement, const char* file, int line);

}  // namespace eave

#define EAVE_MPI(statement) ::eave::check_mpi((statement), #statement, __FILE__, __LINE__)
