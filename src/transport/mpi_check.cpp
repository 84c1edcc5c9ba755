#include "transport/mpi_check.h"

#include <array>
#include <string>

#include "eave/check.h"

namespace eave {

void check_mpi(int result, const char* statement, const char* file, int line) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0, kind = MPI_ERR_UNKNOWN;
  MPI_Error_string(result, text.data(), &length);
  MPI_Error_class(result, &kind);
  const ExitCode code = kind == MPI_ERR_TRUNCATE ? ExitCode::kInternal : ExitCode::kResource;
  throw Error(code, "MPI failed: " + std::string(text.data(), static_cast<std::size_t>(length)) + " in " + statement +
                        " at " + file + ":" + std::to_string(line) +
                        (code == ExitCode::kInternal ? "; the ranks are out of step" : "; see MPI's own messages"));
}

}  // namespace eave
