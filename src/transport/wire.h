// The blocking half of a transport: what a communication thread calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eave/check.h"
#include "eave/slice.h"
#include "eave/transport.h"

namespace eave {

class CallRecord;  // src/transport/call_record.h

// Bytes that go between ranks. The i-th of `ranks` gets `outgoing[i]`, and `incoming[i]` comes from it, as long on both
// sides; a rank's own are left alone, and what is empty is not sent. All that it lends stays alive until it is
// finished.
struct ByteExchange {
  std::span<const int> ranks;
  std::span<const std::span<const std::byte>> outgoing;
  std::span<const std::span<std::byte>> incoming;
};

// Several may be under way, each with a number of its own. All ranks of an exchange start it, and finish it, in the
// same order among theirs.
class ByteExchanger {
 public:
  virtual ~ByteExchanger() = default;
  virtual void start(std::size_t number, const ByteExchange& exchange) = 0;  // numbers count from 0, some 20 at most
  virtual void finish(std::size_t number) = 0;
};

// Sums over all ranks, of values of their own each, that a wire carries out in their order. It may begin one before
// those in front of it have ended, so that a link is never idle between two.
class SumRow {
 public:
  virtual ~SumRow() = default;
  virtual std::optional<Slice> next() = 0;  // the next one's values; nullopt: nobody has asked for another, so far
  virtual void done() = 0;                  // the first that had not ended has
};

// Operations between ranks that return when they are done, in the meaning of Transport. One thread calls them, except
// abort and withdraw, which any thread may call while another is in an operation. Never called with a single rank.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;
  // In how long pieces, in values, a sum or a broadcast is best cut whose values come and go by copies meanwhile.
  virtual std::size_t piece() const { return std::size_t{2} << 20; }

  // Messages that may lie in the memory of such a device; nullptr: there are none.
  virtual ByteExchanger* exchanger_in(DeviceKind) { return nullptr; }

  virtual void all_reduce_sum(Slice values, std::span<const int> ranks = {}) = 0;  // empty: all ranks
  // Returns when all that the row had have ended.
  virtual void all_reduce_sums(SumRow& row) {
    while (const std::optional<Slice> values = row.next()) {
      all_reduce_sum(*values);
      row.done();
    }
  }
  virtual void sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) = 0;
  virtual void broadcast(Slice values, int root) = 0;
  virtual std::vector<std::string> texts(const std::string& mine, TextRoute route) = 0;
  // As Transport::lend and bytes_of_others.
  virtual Slice lend(std::size_t) { return {}; }
  virtual std::size_t bytes_of_others() const { return 0; }
  // As Transport::split. What this rank gets outlives neither this wire nor the next split.
  virtual std::unique_ptr<Wire> split(int part);
  virtual void serve(Service* service) = 0;
  virtual void request(std::span<const ServiceRequest> requests) = 0;
  virtual std::optional<std::size_t> request_length() const { return std::nullopt; }  // nullopt: as any transport's
  virtual void withdraw() noexcept = 0;
  // Called between operations: answers what has come, and returns how long to wait before the next call. nullopt: there
  // is nothing that this thread would have to answer before the next operation.
  virtual std::optional<std::chrono::nanoseconds> attend() { return std::nullopt; }
  // As Transport::control: for another thread than calls the rest.
  virtual ControlChannel* control() { return nullptr; }
  // Of the transport behind this, where that keeps one.
  virtual const CallRecord* calls() const { return nullptr; }
  virtual void abort(ExitCode code) noexcept = 0;
};

}  // namespace eave
