// What a Pending waits for: one communication, handed from the compute thread to the communication thread.
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

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

class Operation;

// Told once, when it has just ended, how long an operation took from its start; in the communication thread, or that of
// who observes it too late.
class OperationObserver {
 public:
  virtual ~OperationObserver() = default;
  virtual void finished(const Operation& operation, double seconds) noexcept = 0;
};

// The request and its outcome. The compute thread fills the request; the communication thread calls start and finish.
// Transports with another way to carry out what is asked override what the compute thread calls.
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
    const std::string* mine = nullptr;  // of texts, whose outcome is `all`
    std::vector<std::string>* all = nullptr;
    std::span<const int> ranks{};  // empty: all
    Compression compression{};
    std::span<const std::span<const std::byte>> outgoing{};  // kExchange, between wires alone
    std::size_t size = 0;                                    // kLend, whose outcome is `lent`
    Slice* lent = nullptr;
    int part = 0;  // kSplit, whose outcome is `wire`
    std::unique_ptr<Wire>* wire = nullptr;
    Service* service = nullptr;
    std::span<const ServiceRequest> requests{};
    std::shared_ptr<DeviceMark> mark{};  // of values in a device's memory: to be waited for first
  };

  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  // Makes a free operation ready for use again.
  void reuse(const Request& request);
  const Request& request() const { return request_; }

  void start() noexcept;
  void finish(std::exception_ptr failure) noexcept;

  virtual bool done() noexcept { return done_.load(std::memory_order_acquire); }
  virtual double wait_until_done() noexcept;  // returns the seconds it blocked
  virtual double wait();                      // Pending::wait; may leave the rest to a device's queue
  virtual void observe(std::shared_ptr<OperationObserver> observer);  // at once when it is done already

  // Free: nobody but the pool holds on to it.
  bool is_free() const noexcept { return free_.load(std::memory_order_acquire); }
  void set_free() noexcept { free_.store(true, std::memory_order_release); }

  Operation* next = nullptr;  // the queue's link

 private:
  Request request_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::shared_ptr<OperationObserver> observer_;
  std::exception_ptr failure_;
  Clock::time_point started_;
  double seconds_ = 0;
  std::atomic<bool> done_{false};
  std::atomic<bool> free_{true};
};

// Recycles operations, so that a steady state allocates none. Used by one thread.
class OperationPool {
 public:
  std::shared_ptr<Operation> take(const Operation::Request& request);

 private:
  std::vector<std::shared_ptr<Operation>> operations_;
};

}  // namespace eave
