// The MPI library that this program runs with.
#pragma once

#include <string>

namespace eave {

// Such as "Open MPI v4.1.4"; "" if eave was built without MPI.
std::string mpi_library();

// Whether this process is between MPI_Init and MPI_Finalize.
bool mpi_is_running();

// Whether it sends from and receives into a GPU's memory. Asks the library at run time; false where it has no such
// question (MPIX_Query_cuda_support). After MPI_Init.
bool mpi_takes_gpu_memory();

}  // namespace eave
