// One communication, which the compute thread hands to the communication thread. A Pending waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "eave/device.h"
#include "eave/slice.h"
#include "eave/transport.h"

namespace eave {

class Wire;

using SteadyClock = std::chrono::steady_clock;

inline double seconds_between(SteadyClock::time_point start, SteadyClock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

class Operation;

// Is told once how long an operation took, from its start to its end. The thread that ends the operation calls it
// (usually the communication thread). If the operation has ended before observe(), the caller of observe() calls it.
class OperationObserver {
 public:
  virtual ~OperationObserver() = default;
  virtual void finished(const Operation& operation, double seconds) noexcept = 0;
};

// A request and its outcome. The compute thread fills the request. The communication thread calls start() and finish().
// A transport without a communication thread overrides the virtual functions, which the compute thread calls
// (NcclOperation).
class Operation {
 public:
  enum class Verb {
    kAllReduceSum,
    kBroadcast,
    kAllGather,
    kGather,
    kBroadcastText,
    kScatter,
    kLend,
    kSplit,
    kServe,
    kRequest,
    kExchange,
    kNothing
  };
  struct Request {
    Verb verb = Verb::kAllReduceSum;
    Slice values{};
    int root = 0;
    // The verbs of texts: the text of this rank, and its route. The texts that this rank gets go to `all`.
    const std::string* mine = nullptr;
    TextRoute route = TextRoute::kAllToAll;
    std::vector<std::string>* all = nullptr;
    std::span<const int> ranks{};  // the group; empty: all ranks
    Compression compression{};
    // kExchange only, which ThreadsWire uses when its ranks meet.
    std::span<const std::span<const std::byte>> outgoing{};
    // kLend: the number of values to lend; the result goes to `lent`.
    std::size_t size = 0;
    Slice* lent = nullptr;
    // kSplit: this rank's part; the result goes to `wire`.
    int part = 0;
    std::unique_ptr<Wire>* wire = nullptr;
    Service* service = nullptr;
    std::span<const ServiceRequest> requests{};
    // Set if values lie in a device's memory. The communication thread waits for this mark before it begins.
    std::shared_ptr<DeviceMark> mark{};
  };

  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  // Prepares a free operation for another request.
  void reuse(const Request& request);
  const Request& request() const { return request_; }

  void start() noexcept;
  void finish(std::exception_ptr failure) noexcept;

  virtual bool done() noexcept { return done_.load(std::memory_order_acquire); }
  virtual double wait_until_done() noexcept;  // returns the seconds it blocked
  virtual double wait();                      // as Pending::wait; may leave the wait to a device's queue
  virtual void observe(std::shared_ptr<OperationObserver> observer);  // called at once if it is done

  // Free: only the pool refers to it.
  bool is_free() const noexcept { return free_.load(std::memory_order_acquire); }
  void set_free() noexcept { free_.store(true, std::memory_order_release); }

  Operation* next = nullptr;  // link of the transport's queue

 private:
  Request request_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::shared_ptr<OperationObserver> observer_;
  std::exception_ptr failure_;
  SteadyClock::time_point started_;
  double seconds_ = 0;
  std::atomic<bool> done_{false};
  std::atomic<bool> free_{true};
};

// Recycles operations, so that a job allocates none after its first steps. One thread uses it.
class OperationPool {
 public:
  std::shared_ptr<Operation> take(const Operation::Request& request);

 private:
  std::vector<std::shared_ptr<Operation>> operations_;
};

}  // namespace eave
