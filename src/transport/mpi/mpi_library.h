// The MPI library that this program runs with.
#pragma once

#include <string>

namespace eave {

// Such as "Open MPI v4.1.4"; "" if eave was built without MPI.
std::string mpi_library();

// Whether this process is between MPI_Init and MPI_Finalize.
bool mpi_is_running();

// Whether this MPI sends from and receives into GPU memory. Asks the library at run time (MPIX_Query_cuda_support);
// false if the library lacks that function. Call it after MPI_Init.
bool mpi_takes_gpu_memory();

}  // namespace eave
