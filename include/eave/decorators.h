// Transports that wrap another transport: they count its operations, simulate a slow link, or use NCCL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "eave/transport.h"

namespace eave {

class TraceBuffer;  // src/base/trace_buffer.h

// Counts the operations of this rank. `bytes` are those that this rank sends in a bandwidth-optimal algorithm, among p
// ranks and for values of M bytes:
//     all-reduce              2(p−1)/p·M; for a compressed sum, M is the size of the encoded values
//     broadcast, also of text M(p−1)/p
//     all_gather              (p−1)·M, for a text of M bytes from this rank
//     gather                  M, for a text of M bytes from this rank; 0 on rank 0
//     scatter                 M on rank 0, plus 8 for each text
//     request                 M if it goes to another rank. The reply counts M for the owner, but not as a call.
struct TransportCounters {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  std::int64_t bytes_replied = 0;  // the part of `bytes` that this rank's service sent as replies
  double seconds = 0;              // seconds during which an operation was carried out, from its start to its end
};

// Decorators wrap another transport, which must outlive them.
//
// `counting` counts the operations that it passes to `inner`. Any thread may call counters(). Make it the outermost
// decorator, as in counting(shaped(mpi)): then it counts the application's operations, and its seconds include the
// time on the shaped link.
class CountingTransport : public Transport {
 public:
  virtual TransportCounters counters() const = 0;
};
// `trace`, if not nullptr, gets the times of each operation. It is lent until everything in flight has ended.
std::unique_ptr<CountingTransport> make_counting_transport(Transport& inner, TraceBuffer* trace = nullptr);

// `shaped` simulates a link with a one-way delay and a rate (0 = unlimited). An operation ends no earlier than
// delay + bytes / rate after the last rank joined it, with bytes as in TransportCounters. Operations use the link one
// after another. Ranks may have different links: an operation takes as long as the slowest link needs. With one rank
// there is no link. Every rank must decorate its transport; making the decorator is not collective. A device is
// attached to the decorator, not to `inner`: all values cross the link from host memory, with `nccl` too.
//
// With jitter, each call of this rank starts late by a random time of at most jitter_seconds, so other ranks wait.
struct LinkShape {
  double delay_seconds = 0;
  double bytes_per_second = 0;
  double jitter_seconds = 0;
  std::uint64_t jitter_seed = 0;
};
std::unique_ptr<Transport> make_shaped_transport(Transport& inner, LinkShape shape);

// `nccl`: if each rank has a GPU of its own, NCCL carries out sums and broadcasts of values in GPU memory. All other
// operations go to `inner`; so does everything until a device is attached. If NCCL cannot be used, attach() throws
// (kRequired), or gives rank 0's `warn` the reason, once, and passes the device on to `inner` (kWherePossible). Every
// rank must decorate its transport; making the decorator is not collective. Make it the innermost decorator. Its name
// is "nccl" if NCCL is used or required, otherwise that of `inner`.
enum class NcclUse { kRequired, kWherePossible };
std::unique_ptr<Transport> make_nccl_transport(Transport& inner, NcclUse use,
                                               std::function<void(const std::string&)> warn = {});
// Whether GPUs exchange by NCCL if they can: if the user asked for the transport "auto", and eave then chose
// `transport` between processes, such as mpi or tcp. A transport that the user named is used as it is.
bool tries_nccl(const std::string& asked_for, const std::string& transport);

}  // namespace eave
