// The blocking half of a transport, which a communication thread calls.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "eave/check.h"
#include "eave/slice.h"
#include "eave/transport.h"

namespace eave {

class CallRecord;  // src/transport/core/call_record.h

// How ranks share out a slice: part `number` of `parts` consecutive parts. The first `slice.size() % parts` parts are
// one value longer.
inline Slice part_of(Slice slice, int number, int parts) {
  const auto k = static_cast<std::size_t>(number), p = static_cast<std::size_t>(parts);
  const std::size_t share = slice.size() / p, rest = slice.size() % p;
  return slice.subspan(k * share + std::min(k, rest), share + (k < rest ? 1 : 0));
}

// Bytes that ranks exchange. This rank sends `outgoing[i]` to `ranks[i]` and receives `incoming[i]` from it. Sender and
// receiver give the same length. This rank's own entries are ignored, and empty entries are not sent. The caller keeps
// the spans and the bytes alive until the exchange is finished.
struct ByteExchange {
  std::span<const int> ranks;
  std::span<const std::span<const std::byte>> outgoing;
  std::span<const std::span<std::byte>> incoming;
};

// Exchanges bytes between ranks. Several exchanges may be in flight, each with its own number. All ranks of an exchange
// start it, and all finish it. Any two ranks start their common exchanges in the same order, and also finish them so.
class ByteExchanger {
 public:
  virtual ~ByteExchanger() = default;
  // Numbers count from 0; some 20 are used at most.
  virtual void start(std::size_t number, const ByteExchange& exchange) = 0;
  virtual void finish(std::size_t number) = 0;
};

// A queue of sums over all ranks, each of different values. A wire carries them out in their order. It may begin a sum
// before the previous sums have ended, so that a link is not idle between two sums.
class SumQueue {
 public:
  virtual ~SumQueue() = default;
  // The values of the next sum. nullopt: no further sum has been asked for so far.
  virtual std::optional<Slice> next() = 0;
  // The wire calls it when the oldest unfinished sum has ended.
  virtual void done() = 0;
};

// Operations between ranks that return when they are done; Transport says what each means. One thread calls them. Any
// thread may call abort and withdraw, also while an operation runs. A job of one rank calls none of them.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;
  // The best length, in values, of the pieces into which a caller cuts a sum or a broadcast. Callers cut it to overlap
  // messages with copies from and to a device.
  virtual std::size_t piece() const { return std::size_t{2} << 20; }

  // The object that exchanges bytes in the memory of such a device; nullptr: this wire cannot.
  virtual ByteExchanger* exchanger_in(DeviceKind) { return nullptr; }

  virtual void all_reduce_sum(Slice values, std::span<const int> ranks = {}) = 0;  // empty: all ranks
  // Returns when all sums that the queue gave have ended.
  virtual void all_reduce_sums(SumQueue& queue) {
    while (const std::optional<Slice> values = queue.next()) {
      all_reduce_sum(*values);
      queue.done();
    }
  }
  virtual void sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) = 0;
  virtual void broadcast(Slice values, int root) = 0;
  virtual std::vector<std::string> texts(const std::string& mine, TextRoute route) = 0;
  // As Transport::lend and Transport::bytes_of_others.
  virtual Slice lend(std::size_t) { return {}; }
  virtual std::size_t bytes_of_others() const { return 0; }
  // As Transport::split. The returned wire must be destroyed before this wire, and before the next split.
  virtual std::unique_ptr<Wire> split(int part);
  virtual void serve(Service* service) = 0;
  virtual void request(std::span<const ServiceRequest> requests) = 0;
  virtual std::optional<std::size_t> request_length() const { return std::nullopt; }  // nullopt: the default
  virtual void withdraw() noexcept = 0;
  // The communication thread calls it between operations. Answers requests that have come. Returns how long the thread
  // may wait before the next call; nullopt: until the next operation, because this rank has no requests to answer.
  virtual std::optional<std::chrono::nanoseconds> poll_requests() { return std::nullopt; }
  // Whether the wire itself can wait for requests. If so, the communication thread calls rest() after poll_requests();
  // it returns when something has come, at the latest after `at_most`, or when any thread calls wake().
  virtual bool can_rest() const { return false; }
  virtual void rest(std::chrono::nanoseconds at_most) { std::this_thread::sleep_for(at_most); }
  virtual void wake() noexcept {}
  // As Transport::control. Another thread than the one that calls the other methods uses the channel.
  virtual ControlChannel* control() { return nullptr; }
  // The record of the transport behind this wire, if that transport keeps one; otherwise nullptr.
  virtual const CallRecord* calls() const { return nullptr; }
  virtual std::shared_ptr<const CallRecord> device_calls() const { return nullptr; }
  virtual void abort(ExitCode code) noexcept = 0;
};

}  // namespace eave
