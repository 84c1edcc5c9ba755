// Takes the place of mpi_library.cpp in a build without MPI.
#include "transport/mpi/mpi_library.h"

namespace eave {

std::string mpi_library() { return ""; }
bool mpi_is_running() { return false; }
bool mpi_takes_gpu_memory() { return false; }

}  // namespace eave
