// The transport `tcp-flat`: as tcp, but sums always add up in rank order, whatever hosts the ranks run on.
#include "eave/job.h"
#include "transport/tcp/tcp_job.h"

namespace eave {

TransportKind describe_transport_tcp_flat() {
  return {.name = "tcp-flat",
          .summary = "as tcp, but ranks sum in rank order, regardless of their hosts",
          .is_launched = true,
          .run = [](int, const auto& body) { return run_tcp_job(body, {.name = "tcp-flat", .sums_by_host = false}); },
          .meets = true};
}

}  // namespace eave
