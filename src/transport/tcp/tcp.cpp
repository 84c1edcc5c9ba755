// The transport `tcp`: ranks are processes that meet by themselves, without MPI.
#include "eave/job.h"
#include "transport/tcp/tcp_job.h"

namespace eave {

TransportKind describe_transport_tcp() {
  return {.name = "tcp",
          .summary = "ranks started by torchrun, srun or any launcher, which meet by themselves; they sum as mpi does",
          .is_launched = true,
          .run = [](int, const auto& body) { return run_tcp_job(body, {.name = "tcp"}); },
          .meets = true};
}

}  // namespace eave
