// Moves numbers between ranks, in the background.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/device.h"
#include "eave/slice.h"

namespace eave {

class CallRecord;   // src/transport/call_record.h
class Codec;        // src/transport/codec.h
class Operation;    // src/transport/operation.h
class TraceBuffer;  // src/base/trace_buffer.h

// A communication in flight. Move-only; the slices it works on must stay alive and untouched until it is done, but for
// what is called of their device after wait().
// Destroying a Pending (or assigning to it) waits until its slices are free again and drops the operation's failure: so
// an exception may unwind past it. Declare it after the buffers it works on.
class Pending {
 public:
  Pending() noexcept;  // nothing in flight: done
  explicit Pending(std::shared_ptr<Operation> operation) noexcept;
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  ~Pending();

  bool done() const;
  // Blocks until done and returns the seconds it blocked. Rethrows the operation's failure. Afterwards nothing is in
  // flight. `nccl`: blocks the device's queue instead of the caller, so that what is called of the device from then on
  // finds the values; returns 0.
  double wait();

  // For decorators: the operation, or nullptr when it was done at once.
  Operation* operation() const { return operation_.get(); }

 private:
  std::shared_ptr<Operation> operation_;
};

// What an owner does with requests to it; e.g. keeps shards of a center.
class Service {
 public:
  virtual ~Service() = default;
  // `values` came from rank `from` under `key`, whole; they become the reply, in place. One call at a time per owner,
  // in any thread, for as long as the owner computes or waits; it must not call the transport. False: it is not this
  // request's turn, and `values` are untouched. It is offered again whenever another request to this owner has been
  // answered. What escapes it fails the owner's operations (threads: the sender's).
  virtual bool answer(int from, std::int64_t key, Slice values) = 0;
};

struct ServiceRequest {
  int owner = 0;  // may be the rank that sends it
  std::int64_t key = 0;
  Slice values;
};

// How a sum travels in fewer bytes, with error feedback: what is dropped of it is kept, and added to the next one
// (1-bit SGD, Seide et al. 2014; EF-SGD, Karimireddy et al. 2019; in both directions: DoubleSqueeze, Tang et al. 2019).
//
// Values are cut into blocks of 1024, and block b belongs to the (b mod p)-th of the p ranks, o. With x_i the values of
// rank i, e_i its residual and Q what the codec leaves of a block:
//     i != o   v_i = x_i + e_i;   Q(v_i) goes to o;   e_i <- v_i - Q(v_i)
//     o        s = sum of all Q(v_i) in rank order, but v_o = x_o + e_o whole;   Q(s) goes to all;   e_o <- s - Q(s)
//     all      take Q(s) as their values: the same bits on all ranks, and with all transports.
// So Q(s) and the residuals after it are together what came: sum x_i + sum e_i.
struct Compression {
  const Codec* codec = nullptr;  // lent; nullptr: values go as they are
  Slice residual{};              // as large as the values, in the host's memory; begins as 0, and is kept by the caller
  std::size_t first_block = 0;   // number of the values' first block, where they are a part of something larger
};

// A few words to another rank, beside the operations: 64 bytes. What they mean is an agreement between those who use
// the channel; `kind` tells their messages apart.
struct ControlMessage {
  std::int64_t kind = 0;
  std::array<std::int64_t, 7> numbers{};
};

// Takes messages from any rank to any other whatever the operations of either wait for, while a thread of each calls
// its own channel from time to time. Messages of one rank to another arrive once each, in their order. At any time one
// thread calls a channel, the same or another than calls the Transport.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;
  // Never blocks, and keeps nothing of the message. May leave no earlier than with a later call of either method.
  // `to` is another rank.
  virtual void post(int to, const ControlMessage& message) = 0;
  // Never blocks. False: nothing has come, or it cannot be told just now, for another thread is using the network.
  // A few microseconds.
  virtual bool poll(ControlMessage& message, int& from) = 0;
};

// Whose texts go to whom, in Transport::texts.
enum class TextRoute { kAllToAll, kAllToFirst, kFirstToAll, kFirstToEach };

// The ranks of one job. Every method is collective unless it says otherwise: all ranks call it, in the same order, with
// the same count. Methods that return Pending return at once; a rank's operations are carried out one after another in
// the order of its calls. (`mpi`: sums of different values over all ranks may be under way at once; they end in order.)
// A peer that is gone or a failing library surfaces as Error(kPeerLost / kResource) from Pending::wait.
// One thread per rank calls a Transport. Counts may exceed 2^31.
//
// Values lie in the host's memory, or in that of the device that is attached: each address tells. An operation on
// values in a device's memory begins when all has taken place there that was called before the operation. When it is
// done they are on the device, for all that is called afterwards.
//     loopback, threads, mpi…  go through pinned host memory in pieces, copies and messages at the same time. The bits
//                              are those of host memory. Ranks may have devices of different kinds.
//     mpi, mpi-flat            where MPI says at run time that it is CUDA-aware, every rank has a GPU, and sums are in
//                              rank order: sums and broadcasts by messages from GPU to GPU, added up there in rank
//                              order. On all ranks the values lie in a device's memory then, or on all in the host's.
//                              `mpi-staged` never.
//     nccl                     sums and broadcasts on the device, in its own queue. Everything in host memory and all
//                              requests go by mpi.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // "mpi", or "shaped(counting(mpi))"
  // Whether values may lie there: the CPU's memory always, another's once a device of that kind is attached.
  virtual bool reaches(DeviceKind device) const = 0;

  // Collective, with nothing in flight; each rank brings its own device. Lent, with its memory, until detach. The
  // memory for staging is had here (24 MiB; for requests, as much as the most values of one call, when it comes).
  // `nccl`: throws AgreedError unless each rank has a GPU of its own (kUsage where none has, else kConfiguration) and
  // NCCL could be set up (kResource). Called by the device's thread.
  virtual void attach(Device& device) = 0;
  // Not collective, with nothing in flight. `nccl` takes leave of the others, for at most some seconds.
  virtual void detach() noexcept = 0;

  // In place: each element becomes the sum over ranks, added up in rank order in float32. So the result is
  // bit-identical on all ranks, from run to run, and between transports. Two add up otherwise, on all ranks alike:
  //     mpi    where several hosts have several ranks each: in rank order within each host, then the hosts' sums in the
  //            order of their lowest ranks. `mpi-flat` keeps to rank order there.
  //     nccl   in a device's memory: in an order of NCCL's choice, the same from run to run on the same machines. On
  //            all ranks the values lie in a device's memory then, or on all in the host's.
  //
  // `ranks`: collective among these alone (empty: all), the same ascending list on each, with this rank in it; anything
  // else throws Error. It stays alive until done. Groups without a common rank do not wait for each other; ranks that
  // are in several groups together call them in the same order.
  //
  // `compression`: the same codec and first block on all. What it lends stays alive and untouched until done. `nccl`
  // goes by mpi then.
  virtual Pending all_reduce_sum(Slice values, std::span<const int> ranks = {},
                                 const Compression& compression = {}) = 0;
  // In place: every rank gets root's values.
  virtual Pending broadcast(Slice values, int root) = 0;

  // Collective and blocking. Values to sum, zeros at first, in memory that the ranks of one host share: a sum of all
  // ranks whose values lie at the same place of what each was lent adds up in place there, without a copy (the same
  // bits). Lives as long as this. Empty, on all ranks, where that cannot be: a rank by itself, several hosts, a rank
  // with a device whose memory is its own, other transports than `mpi`.
  virtual Slice lend(std::size_t) { return {}; }
  // Not collective. Of what others were lent, the bytes that this rank writes, too: they count in its resident memory.
  virtual std::size_t bytes_of_others() const { return 0; }

  // Blocking, for small control messages: each rank waits for O(log p) of them. Who needs a text on one rank alone says
  // so: all_gather gives every rank the bytes of all. `mpi` has a binomial tree: what is gathered passes through inner
  // ranks, each of which sends on the texts of its subtree, half of all at most, on average log2(p)/2 of them.
  std::vector<std::string> all_gather(const std::string& mine) { return texts(mine, TextRoute::kAllToAll); }
  // Rank 0 gets every rank's text, in rank order; the others get nothing, and need not wait for it.
  std::vector<std::string> gather(const std::string& mine) { return texts(mine, TextRoute::kAllToFirst); }
  // Rank 0's text; what the others give is ignored. No barrier: rank 0 need not wait for them.
  std::string broadcast_text(const std::string& text) { return texts(text, TextRoute::kFirstToAll).front(); }
  // What rank 0 has for this rank: there `texts` are those for all, in rank order; what the others give is ignored. As
  // a gather in the other direction, with as many bytes on the way.
  std::string scatter(const std::vector<std::string>& texts);
  // All four: every rank's text, or rank 0's alone, or nothing; with kFirstToEach, rank 0 gives all as one (see
  // src/transport/text_routes.h).
  virtual std::vector<std::string> texts(const std::string& mine, TextRoute route) = 0;

  // From its return on, requests to this rank are answered by `service`, also while the rank computes, waits or has
  // nothing to do; nullptr: it answers none. The service is lent until the next serve returns or withdraw is called.
  // Blocks until all ranks have come, their requests all answered; meanwhile the former services go on. So a job calls
  // it twice, in the end with nullptr on all ranks.
  virtual void serve(Service* service) = 0;
  // Not collective. Each request's values go to its owner and come back as its reply, in any order; done when all have.
  // Requests and slices stay alive until then. Values of one request are what is answered at a time: cut what is long
  // (request_length), so that sending, answering and replies overlap. Error(kInternal) if the owner has no service.
  virtual Pending request(std::span<const ServiceRequest> requests) = 0;
  // Not collective, the same on all ranks: values that a request had best have at most. `mpi`: fewer where links
  // between hosts are slow.
  virtual std::size_t request_length() const { return std::size_t{64} << 10; }
  // Not collective, for unwinding: this rank's service is not called any more once this returns. Requests to it stay
  // unanswered until the rank aborts.
  virtual void withdraw() noexcept = 0;

  // Collective, with nothing in flight, on what TransportKind::run gives to `body`; decorators throw Error(kInternal).
  // The ranks that give the same `part` become ranks 0, 1 ... of a transport of their own, in the order of their ranks
  // here; those that give a negative one get nullptr. Until a rank has destroyed its own it calls nothing of this one
  // but abort. It has no device and no service. What ends this job ends its parts.
  virtual std::unique_ptr<Transport> split(int part);

  // Not collective: lent, for as long as this lives; what has been posted until then arrives at those who still poll.
  // nullptr for a rank by itself, and in parts of a job.
  virtual ControlChannel* control() { return nullptr; }

  // Not collective: what the communication thread does and has done, as any thread may read it; it lives as long as
  // this. nullptr for a rank by itself. `nccl`: what goes by the inner transport.
  virtual const CallRecord* calls() const { return nullptr; }

  // This rank fails: wakes or ends all others, so that none is left waiting. `mpi` and `nccl` end the job with `code`
  // and do not return; `threads` makes every pending and later call of the others throw Error(kPeerLost). Any thread
  // may call it.
  virtual void abort(ExitCode code) noexcept = 0;
};

// A device attached for as long as this lives. Declare it behind the device, and before what is in flight.
class Attachment {
 public:
  Attachment(Transport& transport, Device& device) : transport_(transport) { transport_.attach(device); }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment() { transport_.detach(); }

 private:
  Transport& transport_;
};

// Rank 0 makes one row of numbers of all ranks' rows, given in rank order; every rank gets it. What `combine` throws
// there all throw as AgreedError. Blocking and collective; O(log p) messages, and bytes as in Transport::gather.
using Rows = std::vector<std::vector<double>>;
std::vector<double> combine_over_ranks(Transport& transport, const std::vector<double>& mine,
                                       const std::function<std::vector<double>(const Rows&)>& combine);

// Sums in rank order, in double: the same bits on every rank. As combine_over_ranks.
std::vector<double> sum_over_ranks(Transport& transport, const std::vector<double>& mine);

// A failure that all ranks know of, with the same code and the same message on each. TransportKind::run prints it once
// for the whole job (rank 0 does) and every rank returns its code; nobody needs to be aborted.
class AgreedError : public Error {
 public:
  using Error::Error;
};

// Collective. Runs `stage` on every rank; when it throws on any of them, throws the same AgreedError on all. The
// code and the message are those of the lowest rank that failed; unless every rank says the same, with its rank and
// host, and with the other ranks that failed. For set-up, where a wrong option or file usually fails on all ranks
// alike. `stage` must not communicate: a rank that fails would leave the others waiting in it.
void agree(Transport& transport, const std::function<void()>& stage);

// Collective, for what one rank can tell of all: runs `judge` on rank 0 alone; when it throws there, throws the same
// AgreedError on all.
void let_first_judge(Transport& transport, const std::function<void()>& judge);

// What crossed a transport, by the bytes this rank sent in a bandwidth-optimal algorithm: 2(p−1)/p·M for an allreduce
// of M bytes among p ranks, M(p−1)/p per rank for a broadcast, of text too, (p−1)·M for an all_gather of M bytes from
// this rank, M for a gather of M bytes from it unless it is rank 0, M on rank 0 for a scatter of M bytes (8 more for
// each text), M for a request of M bytes to another rank. Its reply counts M for the owner, and is no call there. M of
// a compressed sum is what its values take when encoded.
struct TransportCounters {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  std::int64_t bytes_replied = 0;  // of `bytes`, those that this rank's service has answered others with
  double seconds = 0;              // during which an operation was being carried out (from its start to its end)
};

// Decorators stand in front of another transport, which must outlive them.
//
// `counting`: counts what passes to `inner`. `counters()` may be read from any thread. Goes outermost,
// counting(shaped(mpi)): then it counts the application's operations, and its seconds hold the shaped link's.
class CountingTransport : public Transport {
 public:
  virtual TransportCounters counters() const = 0;
};
// `trace`: keeps when each operation was carried out. Lent until what is in flight has ended.
std::unique_ptr<CountingTransport> make_counting_transport(Transport& inner, TraceBuffer* trace = nullptr);

// `shaped`: as if this rank's link had this one-way delay and rate (0 = unlimited). An operation ends no
// earlier than delay + bytes / rate after the last rank joined it, bytes as in TransportCounters; operations share the
// link one after another. Ranks may have different links: an operation takes as long as the slowest needs. A rank by
// itself has no link. Every rank must decorate its transport; making it is not collective. A device is attached to the
// link, not to what is behind it: all that crosses it comes from the host's memory, with `nccl` too.
//
// With jitter this rank begins each of its calls up to so much later, by chance: others wait for it.
struct LinkShape {
  double delay_seconds = 0;
  double bytes_per_second = 0;
  double jitter_seconds = 0;
  std::uint64_t jitter_seed = 0;
};
std::unique_ptr<Transport> make_shaped_transport(Transport& inner, LinkShape shape);

// `nccl`: with a GPU of its own on each rank, sums and broadcasts in GPU memory by NCCL; all else goes to `inner`, as
// everything does until a device is attached. Where that cannot be, attach throws, or passes the device on to `inner`.
// Every rank must decorate its transport; making it is not collective. Stands next to the bare transport. Its name is
// "nccl" where NCCL is used or required, otherwise that of `inner`.
enum class NcclUse { kRequired, kWherePossible };
std::unique_ptr<Transport> make_nccl_transport(Transport& inner, NcclUse use);

// A member of the transport family: one file in src/transport and one word in its CMake list.
struct TransportKind {
  std::string name;
  std::string summary;
  bool is_launched;  // its ranks are processes that an MPI launcher starts
  // Runs `body` once per rank of this process, each time with its own Transport, and returns the process's exit code
  // when all are through. `loopback`: one rank. `threads`: `ranks` ranks, each on a thread (rank 0 on the caller's).
  // Launched ones: the rank that the launcher made this process; `ranks` is ignored (0). May be called once per process
  // for one of them.
  //
  // An Error that escapes `body` on some rank is printed to stderr as "eave: rank 1 on host: text" (one rank: "eave:
  // text"), then ends the job with its code on all ranks; any other exception does so with 70 (71 when out of memory).
  // An AgreedError is printed by rank 0 alone, as "eave: text".
  int (*run)(int ranks, const std::function<void(Transport&)>& body);
};

const std::vector<TransportKind>& transport_kinds();

// True when a launcher whose ranks find each other by MPI (mpirun, mpiexec, srun --mpi=pmix) started this process, also
// as the only rank. src/transport/launchers.h knows more of it.
bool started_by_launcher();

}  // namespace eave
