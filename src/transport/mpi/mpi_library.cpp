#include "transport/mpi/mpi_library.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <array>

#include "eave/check.h"

namespace eave {

// The library's text may have many lines. Only the part before the first comma or line end names it.
std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "an MPI without a name";
  const std::string name(text.data(), static_cast<std::size_t>(length));
  return name.substr(0, name.find_first_of(",\n"));
}

bool mpi_is_running() {
  int is_initialised = 0, is_finalised = 0;
  return MPI_Initialized(&is_initialised) == MPI_SUCCESS && MPI_Finalized(&is_finalised) == MPI_SUCCESS &&
         is_initialised && !is_finalised;
}

bool mpi_takes_gpu_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

void check_mpi(int result, const char* statement, const char* file, int line) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> buffer{};
  int length = 0, kind = MPI_ERR_UNKNOWN;
  MPI_Error_string(result, buffer.data(), &length);
  MPI_Error_class(result, &kind);
  std::string text(buffer.data(), static_cast<std::size_t>(length));
  std::ranges::replace(text, '\n', ' ');  // MPICH's text has many lines; eave's message has one
  const ExitCode code = kind == MPI_ERR_TRUNCATE ? ExitCode::kInternal : ExitCode::kResource;
  throw Error(code, "MPI failed: " + text + " in " + statement + " at " + file + ":" + std::to_string(line) +
                        (code == ExitCode::kInternal ? "; the ranks are out of step" : "; see MPI's own messages"));
}

}  // namespace eave
