// The transport `tcp`: ranks are processes that meet by themselves, without MPI.
#include "eave/job.h"
#include "transport/tcp/tcp_job.h"

namespace eave {
namespace {

constexpr const char* kTcp = "tcp";

int run_tcp(int, const std::function<void(Transport&)>& body) { return run_tcp_job(body, {.name = kTcp}); }

}  // namespace

TransportKind describe_transport_tcp() {
  return {.name = kTcp,
          .summary = "ranks started by torchrun, srun or any launcher, which meet by themselves; they sum as mpi does",
          .is_launched = true,
          .run = run_tcp,
          .meets = true};
}

}  // namespace eave
