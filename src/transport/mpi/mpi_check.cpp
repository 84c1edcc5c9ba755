#include "transport/mpi/mpi_check.h"

#include <algorithm>
#include <array>
#include <string>

#include "eave/check.h"

namespace eave {

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
