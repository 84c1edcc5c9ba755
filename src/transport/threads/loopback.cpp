// The transport `loopback`: one rank by itself, as `threads` has it. There is nothing to exchange, so every operation
// is done at once.
#include "eave/job.h"
#include "transport/threads/threads_job.h"

namespace eave {

TransportKind describe_transport_loopback() {
  return {"loopback", "a single rank, which exchanges nothing", false,
          [](int, const auto& body) { return run_threads_job(1, "loopback", body); }};
}

}  // namespace eave
