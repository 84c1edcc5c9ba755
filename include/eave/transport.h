// Moves numbers between ranks, in the background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eave/device.h"
#include "eave/check.h"
#include "eave/options.h"
#include "eave/slice.h"

namespace eave {

class Operation;

// A communication in flight. Move-only; the slices it works on must stay alive and untouched until it is done.
// Destroying a Pending does not wait and does not cancel.
class Pending {
 public:
  Pending() = default;  // nothing in flight: done
  explicit Pending(std::shared_ptr<Operation> operation);
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&&) noexcept = default;

  bool done() const;
  // Blocks until done and returns the seconds it blocked. Rethrows the operation's failure. Afterwards nothing is in flight.
  double wait();

 private:
  std::shared_ptr<Operation> operation_;
};

// The ranks of one job. Every method is collective: all ranks call it, in the same order, with the same count.
// Methods that return Pending return at once; operations are carried out one after another in the order of the calls.
// A peer that is gone or a failing library surfaces as Error(kPeerLost / kResource) from Pending::wait.
// One thread per rank calls a Transport. Counts may exceed 2^31.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // "mpi", or "shaped(counting(mpi))"
  virtual bool reaches(DeviceKind device) const = 0;

  // In place: each element becomes the sum over ranks. The result is bit-identical on all ranks, and from run to run.
  virtual Pending all_reduce_sum(Slice values) = 0;
  // In place: every rank gets root's values.
  virtual Pending broadcast(Slice values, int root) = 0;
  // Blocking, for small control messages: every rank's text, in rank order.
  virtual std::vector<std::string> all_gather(const std::string& mine) = 0;
  // This rank fails: wakes or ends all others, so that none is left waiting. `mpi` ends the job with `code` and does not
  // return; `threads` makes every pending and later call of the others throw Error(kPeerLost).
  virtual void abort(ExitCode code) noexcept = 0;
};

// Sums in rank order, in double: the same bits on every rank. Blocking and collective.
std::vector<double> sum_over_ranks(Transport& transport, const std::vector<double>& mine);

// What crossed a transport, by the bytes this rank sent in a bandwidth-optimal algorithm: 2(p−1)/p·M for an allreduce
// of M bytes, M(p−1)/p per rank for a broadcast.
struct TransportCounters {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  double seconds = 0;  // during which an operation was being carried out (from its start to its end)
};

// Decorator `counting`: counts what passes to `inner`. `counters()` may be read from any thread.
class CountingTransport : public Transport {
 public:
  virtual TransportCounters counters() const = 0;
};
std::unique_ptr<CountingTransport> make_counting_transport(std::unique_ptr<Transport> inner);

// Decorator `shaped`: as if every rank's link had this one-way delay and rate (0 = unlimited). An operation ends no
// earlier than delay + bytes / rate after the last rank joined it; operations share the link one after another.
struct LinkShape {
  double delay_seconds = 0;
  double bytes_per_second = 0;
};
std::unique_ptr<Transport> make_shaped_transport(std::unique_ptr<Transport> inner, LinkShape shape);

// A member of the transport family: one file in src/transport and one word in its CMake list.
struct TransportKind {
  std::string name;
  std::string summary;
  // Runs `body` once per rank of this process, each time with its own Transport, and returns the process's exit code
  // when all are through. `loopback`: one rank. `threads`: `ranks` ranks, each on a thread. `mpi`: the rank that the
  // launcher made this process; `ranks` is ignored (0). Errors escaping `body` are reported as described at run_ranks.
  int (*run)(int ranks, const std::function<void(Transport&)>& body);
};

const std::vector<TransportKind>& transport_kinds();

// True when a launcher (mpirun, srun --mpi=pmix) started this process as one of several ranks.
bool started_by_launcher();

}  // namespace eave
