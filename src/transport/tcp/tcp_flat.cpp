// The transport `tcp-flat`: as tcp, but sums always add up in rank order, whatever hosts the ranks run on.
#include "eave/job.h"
#include "transport/tcp/tcp_job.h"

namespace eave {
namespace {

constexpr const char* kTcpFlat = "tcp-flat";

int run_tcp_flat(int, const std::function<void(Transport&)>& body) {
  return run_tcp_job(body, {.name = kTcpFlat, .sums_by_host = false});
}

}  // namespace

TransportKind describe_transport_tcp_flat() {
  return {.name = kTcpFlat,
          .summary = "as tcp, but ranks sum in rank order, regardless of their hosts",
          .is_launched = true,
          .run = run_tcp_flat,
          .meets = true};
}

}  // namespace eave
