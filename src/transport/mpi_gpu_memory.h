// Whether MPI sends from and receives into a GPU's memory.
#pragma once

namespace eave {

// Asks the library at run time; false where it has no such question (MPIX_Query_cuda_support). After MPI_Init.
bool mpi_takes_gpu_memory();

}  // namespace eave
