#include "base/start_thread.h"

#include "eave/check.h"

namespace eave {

void refuse_thread(const std::string& purpose, const std::system_error& error) {
  throw Error(ExitCode::kResource, "no thread " + purpose + " could be had: " + error.code().message() +
                                       "; out of memory, or of processes: raise the limit (ulimit -v, ulimit -u, or "
                                       "pids.max of the control group), or start fewer ranks on this machine");
}

}  // namespace eave
