// The transport `threads`: ranks are threads of one process.
#include "eave/job.h"
#include "transport/threads/threads_job.h"

namespace eave {

TransportKind describe_transport_threads() {
  return {"threads", "ranks as threads of one process: for tests, and for a laptop without MPI", false,
          [](int ranks, const auto& body) { return run_threads_job(ranks, "threads", body); }, true};
}

}  // namespace eave
