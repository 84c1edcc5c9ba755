#include "base/start_thread.h"

#include "eave/check.h"

namespace eave {

void refuse_thread(const std::string& purpose, const std::system_error& error) {
  throw Error(ExitCode::kResource,
              "no thread " + purpose + " could be had: " + error.code().message() +
                  "; raise the limit of memory (ulimit -v) or of processes (ulimit -u, or pids.max "
                  "of the control group), or start fewer ranks on this machine");
}

}  // namespace eave
