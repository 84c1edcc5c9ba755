// An Operation that the device carries out, not a communication thread.
#pragma once

#include <memory>
#include <utility>

#include "device/device_collectives.h"
#include "transport/core/backoff.h"
#include "transport/core/operation.h"

namespace eave {

// The device's thread uses it.
class NcclOperation final : public Operation {
 public:
  explicit NcclOperation(DeviceCollectives& collectives)
      : collectives_(collectives), ticket_(collectives.make_ticket()) {}

  DeviceTicket& ticket() { return *ticket_; }
  void set_out(const Request& request);  // call it after the device has got the ticket
  // The device has carried it out, and nobody refers to it.
  bool is_spare() noexcept { return is_free() && done(); }

  bool done() noexcept override;
  double wait_until_done() noexcept override;
  double wait() override;  // only the device waits
  void observe(std::shared_ptr<OperationObserver> observer) override;

 private:
  void settle() noexcept;

  DeviceCollectives& collectives_;
  std::unique_ptr<DeviceTicket> ticket_;
  std::shared_ptr<OperationObserver> observer_;
  double seconds_ = 0;
  bool is_settled_ = true;
};

inline void NcclOperation::set_out(const Request& request) {
  reuse(request);
  seconds_ = 0;
  is_settled_ = false;
}

inline bool NcclOperation::done() noexcept {
  if (is_settled_) return true;
  try {
    if (ticket_->reached()) {
      seconds_ = ticket_->seconds();
      settle();
    } else if (collectives_.has_failed()) {
      settle();
    }
  } catch (...) {  // the device has failed; its next call reports that
    settle();
  }
  return is_settled_;
}

inline void NcclOperation::settle() noexcept {
  is_settled_ = true;
  if (observer_) observer_->finished(*this, seconds_);
  observer_.reset();
}

inline double NcclOperation::wait_until_done() noexcept {
  const SteadyClock::time_point start = SteadyClock::now();
  for (const Backoff backoff; !done();) backoff.sleep();
  return seconds_between(start, SteadyClock::now());
}

inline double NcclOperation::wait() {
  collectives_.check();
  if (!is_settled_) ticket_->hold_up_device();
  return 0;
}

inline void NcclOperation::observe(std::shared_ptr<OperationObserver> observer) {
  if (done()) {
    observer->finished(*this, seconds_);
  } else {
    observer_ = std::move(observer);
  }
}

}  // namespace eave
