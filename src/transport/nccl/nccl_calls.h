// A record of the operations that a device carries out, so that the watchdog sees the one that does not end.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device_collectives.h"
#include "transport/core/call_record.h"
#include "transport/core/operation.h"

namespace eave {

// A call begins in the record when the device comes to it, and ends when the device has finished it. If this rank's
// device still computes what comes before, the rank is in no call: then it is the one that the other ranks wait for.
// A thread looks at the device every 50 ms, since the device's thread may be blocked. So times are late by up to 50 ms.
//
// The device's thread makes all calls; any thread may read the record.
class NcclCalls {
 public:
  explicit NcclCalls(int ranks) : record_(std::make_shared<CallRecord>(ranks, true)) { flights_.reserve(kUsual); }
  NcclCalls(const NcclCalls&) = delete;
  NcclCalls& operator=(const NcclCalls&) = delete;
  ~NcclCalls() { stop(); }

  std::shared_ptr<const CallRecord> record() const { return record_; }

  void start();          // begins to look; throws Error(kResource) if there is no thread
  void stop() noexcept;  // counts operations that have not ended as ended
  // Call prepare() before the device gets the operation, then set_out() or cancel(). If all that takes long, because
  // the device's library waits for other ranks, the call begins in the record meanwhile. The ticket must stay alive.
  void prepare(const Operation::Request& request, DeviceTicket& ticket) noexcept;
  void set_out() noexcept;
  void cancel() noexcept;

 private:
  static constexpr std::size_t kUsual = 64;  // more operations in flight than usual
  struct Flight {
    Operation::Request request;  // only its sizes are used
    DeviceTicket* ticket = nullptr;
    SteadyClock::time_point prepared;
    bool is_set_out = false;
  };

  void look() noexcept;
  // The caller of the next functions holds the mutex.
  void advance() noexcept;
  bool has_ended(Flight& first);
  void begin(const Flight& first) noexcept;
  void end_first() noexcept;
  // Ends all that the device has got. They count, since the other ranks count theirs: a number that this rank left out
  // would make all later calls of the ranks look different.
  void forget() noexcept;

  const std::shared_ptr<CallRecord> record_;  // written by the holder of the mutex
  std::mutex mutex_;
  std::vector<Flight> flights_;  // not yet ended in the record, in order
  bool is_begun_ = false;        // the first of them, in the record
  std::condition_variable changed_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace eave
