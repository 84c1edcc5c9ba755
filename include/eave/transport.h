// A transport moves numbers between ranks, in the background.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/device.h"
#include "eave/slice.h"

namespace eave {

class CallRecord;  // src/transport/core/call_record.h
class Codec;       // src/transport/codecs/codec.h
class Operation;   // src/transport/core/operation.h

// A handle to an operation in flight. Move-only. The operation's slices must stay alive and untouched until it is done.
// After wait() returns, the caller may enqueue work on them in their device's queue.
// Destroying a Pending, or assigning to it, waits until its slices are free again and drops the operation's failure, so
// an exception may unwind past it. Declare it after the buffers that it works on.
class Pending {
 public:
  Pending() noexcept;  // nothing in flight, so done() is true
  explicit Pending(std::shared_ptr<Operation> operation) noexcept;
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  ~Pending();

  bool done() const;
  // Blocks until the operation is done and returns the seconds for which it blocked. Rethrows the operation's failure.
  // Afterwards nothing is in flight.
  // `nccl` blocks the device's queue instead of the caller and returns 0: device work enqueued from then on finds the
  // values.
  double wait();

  // For decorators: the operation, or nullptr if it was done at once.
  Operation* operation() const { return operation_.get(); }

 private:
  std::shared_ptr<Operation> operation_;
};

// Answers the requests that other ranks send to its rank, the owner; for example, it keeps shards of a center.
class Service {
 public:
  virtual ~Service() = default;
  // Called with all values that rank `from` sent under `key`. The service replaces them by its reply, in place.
  // Calls come one at a time per owner, from any thread, also while the owner computes or waits. The service must not
  // call the transport.
  // If it is not this request's turn, the service leaves `values` untouched and returns false. The transport offers the
  // request again whenever another request to this owner has been answered.
  // An exception that escapes fails the owner's operations (with `threads`, the sender's).
  virtual bool answer(int from, std::int64_t key, Slice values) = 0;
};

struct ServiceRequest {
  int owner = 0;  // rank that answers; may be the rank that sends the request
  std::int64_t key = 0;
  Slice values;  // sent to the owner; the reply overwrites them
};

// Sends a sum in fewer bytes, with error feedback: the part of the values that compression drops is kept as a residual
// and added to the next sum (1-bit SGD, Seide et al. 2014; EF-SGD, Karimireddy et al. 2019; in both directions:
// DoubleSqueeze, Tang et al. 2019).
//
// Values are cut into blocks of 1024. Block b belongs to rank o, the (b mod p)-th of the p ranks. Let x_i be the values
// of rank i, e_i its residual, and Q(v) the block v after encoding and decoding:
//     i != o   v_i = x_i + e_i;   sends Q(v_i) to o;   e_i <- v_i - Q(v_i)
//     o        v_o = x_o + e_o;   s = sum over all ranks, in rank order: Q(v_i) for i != o, and v_o itself;
//              sends Q(s) to all;   e_o <- s - Q(s)
//     all      take Q(s) as their values: the same bits on all ranks, and with all transports.
// So Q(s) plus the new residuals equals sum x_i + sum e_i: nothing is lost.
struct Compression {
  const Codec* codec = nullptr;  // lent; nullptr sends values uncompressed
  Slice residual{};              // as large as the values, in host memory; the caller sets it to 0 once and keeps it
  std::size_t first_block = 0;   // if the values are a part of a larger array: the number of their first block there
};

// A short message (64 bytes) to another rank, outside the operations. The users of the channel agree on the meaning of
// `numbers`; `kind` tells their messages apart.
struct ControlMessage {
  std::int64_t kind = 0;
  std::array<std::int64_t, 7> numbers{};
};

// Delivers messages between any two ranks, even while the operations of both are blocked. On both ranks some thread
// must call its channel from time to time. Messages from one rank to another arrive exactly once and in order. Only one
// thread at a time may call a channel; it need not be the thread that calls the Transport.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;
  // Never blocks. Copies the message, which may leave only during a later call of post or poll. `to` must be another
  // rank.
  virtual void post(int to, const ControlMessage& message) = 0;
  // Never blocks; takes a few microseconds. Returns false if no message has arrived, or if another thread is using the
  // network, so that the channel cannot look now.
  virtual bool poll(ControlMessage& message, int& from) = 0;
};

// Which texts go to which ranks in Transport::texts. "First" is rank 0.
enum class TextRoute { kAllToAll, kAllToFirst, kFirstToAll, kFirstToEach };

// Connects the ranks of one job. Every method is collective unless its comment says otherwise: all ranks call it, in
// the same order, with the same count. Methods that return Pending return at once. A rank's operations run one after
// another, in the order of its calls. (With `mpi`, sums of different values over all ranks may overlap; they end in
// order.) If a peer is lost or a library fails, Pending::wait throws Error(kPeerLost) or Error(kResource).
// One thread per rank calls a Transport. Counts may exceed 2^31.
//
// Values lie in host memory or in the memory of the attached device; the transport knows which by the address. An
// operation on values in a device's memory begins after all work that was enqueued on the device before the call. Once
// it is done, later device work finds the result there. Values in a device's memory travel as follows:
//     all but `nccl`           Through pinned host memory, in pieces; copies and messages overlap. The bits equal those
//                              of an operation in host memory. Ranks may have devices of different kinds.
//     mpi, mpi-flat            If MPI reports at run time that it is CUDA-aware, every rank has a GPU, and sums are in
//                              rank order: sums and broadcasts use messages from GPU to GPU, and the GPUs add up in
//                              rank order. The values must then lie in device memory on all ranks, or in host memory
//                              on all ranks. `mpi-staged` never does this.
//     nccl                     Sums and broadcasts run on the device, in a queue of their own. Values in host memory
//                              and all requests go by the transport behind it. NCCL reports a broken network. It does
//                              not report a rank that is lost on the same host: such operations stay in flight.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;  // "mpi", or "shaped(counting(mpi))"

  // Collective, with nothing in flight. Each rank passes its own device, from the device's thread. The device and its
  // memory are lent until detach(). Allocates staging memory: 24 MiB here, and later, for requests, as much as the
  // largest request() call needs.
  // `nccl` throws AgreedError unless each rank has a GPU of its own and NCCL can be set up: kUsage if no rank has a
  // GPU, kConfiguration if the ranks' GPUs or NCCL versions do not fit together, kResource if the set-up fails.
  virtual void attach(Device& device) = 0;
  // Not collective, with nothing in flight. `nccl` waits for the other ranks for a few seconds at most.
  virtual void detach() noexcept = 0;

  // In place: each element becomes the sum over ranks, added up in rank order in float32. So the result is
  // bit-identical on all ranks, from run to run, and between transports. These transports use another order, which is
  // the same on all ranks:
  //     mpi, tcp
  //            If several hosts have several ranks each: in rank order within each host, then the hosts' sums in the
  //            order of their lowest ranks. `mpi-flat` and `tcp-flat` keep to rank order there.
  //     nccl   In a device's memory: in an order that NCCL chooses, the same from run to run on the same machines. The
  //            values must lie in device memory on all ranks, or in host memory on all ranks.
  //
  // `ranks`: if not empty, only these ranks take part. All of them pass the same ascending list, which contains the
  // calling rank and stays alive until done; any other list throws Error. Groups without a common rank do not wait for
  // each other. Ranks that share several groups call them in the same order.
  //
  // `compression`: all ranks pass the same codec and first block. The codec and the residual stay alive and untouched
  // until done. `nccl` sends compressed sums by the transport behind it.
  virtual Pending all_reduce_sum(Slice values, std::span<const int> ranks = {},
                                 const Compression& compression = {}) = 0;
  // In place: every rank gets root's values.
  virtual Pending broadcast(Slice values, int root) = 0;

  // Collective and blocking. Lends each rank a zeroed array of this size, in memory that the ranks of one host share.
  // If each rank's values lie at the same offset in its array, a sum over all ranks adds them up in place. That saves a
  // copy and gives the same bits. The array lives as long as the transport. Returns an empty slice on all ranks if
  // sharing is not possible: with one rank, several hosts, a device with memory of its own on some rank, or a transport
  // other than `mpi` and `tcp`.
  virtual Slice lend(std::size_t) { return {}; }
  // Not collective. Bytes of arrays lent to other ranks that this rank writes too; they count as its resident memory.
  virtual std::size_t bytes_of_others() const { return 0; }

  // The next four methods block. They are for small control messages: each rank waits for O(log p) messages. If only
  // one rank needs the texts, use gather: all_gather sends every text to every rank. `mpi` uses a binomial tree. In a
  // gather an inner rank passes on the texts of its subtree: at most half of all texts, log2(p)/2 on average.
  std::vector<std::string> all_gather(const std::string& mine) { return texts(mine, TextRoute::kAllToAll); }
  // Rank 0 gets every rank's text, in rank order. The other ranks get nothing and need not wait for rank 0.
  std::vector<std::string> gather(const std::string& mine) { return texts(mine, TextRoute::kAllToFirst); }
  // Every rank gets rank 0's text; the texts of other ranks are ignored. Not a barrier: rank 0 need not wait for them.
  std::string broadcast_text(const std::string& text) { return texts(text, TextRoute::kFirstToAll).front(); }
  // Returns the text that rank 0 has for this rank. On rank 0, `texts` holds one text per rank, in rank order; on other
  // ranks it is ignored. As many bytes travel as in a gather.
  std::string scatter(const std::vector<std::string>& texts);
  // Implements the four methods above. Returns every rank's text, or rank 0's alone, or nothing, by `route`. With
  // kFirstToEach, rank 0's `mine` packs the texts of all ranks into one (append_text in
  // src/transport/core/text_routes.h).
  virtual std::vector<std::string> texts(const std::string& mine, TextRoute route) = 0;

  // Collective and blocking. Once it returns, `service` answers requests to this rank, also while the rank computes,
  // waits or is idle; with nullptr the rank answers none. The service is lent until the next serve() returns or
  // withdraw() is called. Waits until all ranks have called it and all their requests are answered; until then the
  // former services answer. So a job calls it twice: the second time at its end, with nullptr on all ranks.
  virtual void serve(Service* service) = 0;
  // Not collective. Sends each request's values to its owner and overwrites them by the reply. Requests may be answered
  // in any order; the operation is done when all are. The requests and their slices must stay alive until then. The
  // owner answers one request at a time: cut long arrays into requests of request_length() values, so that sending,
  // answering and replying overlap. Fails with Error(kInternal) if the owner has no service.
  virtual Pending request(std::span<const ServiceRequest> requests) = 0;
  // Not collective; equal on all ranks. The recommended largest number of values per request. `mpi` returns fewer if
  // links between hosts are slow.
  virtual std::size_t request_length() const { return std::size_t{64} << 10; }
  // Not collective; for stack unwinding. Once it returns, this rank's service is no longer called. Requests to it stay
  // unanswered until the rank aborts.
  virtual void withdraw() noexcept = 0;

  // Collective, with nothing in flight. May be called only on the transport that TransportKind::run passes to `body`;
  // decorators throw Error(kInternal).
  // Ranks with the same `part` become ranks 0, 1 ... of a new transport, in the order of their ranks here. Ranks with a
  // negative `part` get nullptr. The new transport has no device and no service. Until a rank has destroyed it, the
  // rank may call only abort() on this one. If this job ends, its parts end too.
  virtual std::unique_ptr<Transport> split(int part);

  // Not collective. The channel is lent for as long as the transport lives. Messages posted by then still reach ranks
  // that poll. nullptr with one rank, and in parts of a job.
  virtual ControlChannel* control() { return nullptr; }

  // Not collective. The record of what the communication thread does and has done; any thread may read it. It lives as
  // long as the transport. nullptr with one rank.
  virtual const CallRecord* calls() const { return nullptr; }
  // The same for the operations that the device carries out, which only `nccl` has: nullptr with all other transports.
  // It is shared, because a guard is made before `nccl` and outlives it.
  virtual std::shared_ptr<const CallRecord> device_calls() const { return nullptr; }

  // Called when this rank fails: wakes or ends all other ranks, so that none waits forever. `mpi` and `nccl` end the
  // job with `code` and do not return. `threads` makes every pending and later call of other ranks throw
  // Error(kPeerLost). Any thread may call it.
  virtual void abort(ExitCode code) noexcept = 0;
};

// Keeps a device attached for as long as it lives. Declare it after the device and before any Pending.
class Attachment {
 public:
  Attachment(Transport& transport, Device& device) : transport_(transport) { transport_.attach(device); }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment() { transport_.detach(); }

 private:
  Transport& transport_;
};

}  // namespace eave
