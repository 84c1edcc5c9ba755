#include "transport/nccl/nccl_operation.h"

#include <utility>

#include "transport/core/backoff.h"

namespace eave {

void NcclOperation::set_out(const Request& request) {
  reuse(request);
  seconds_ = 0;
  is_settled_ = false;
}

bool NcclOperation::done() noexcept {
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

void NcclOperation::settle() noexcept {
  is_settled_ = true;
  if (observer_) observer_->finished(*this, seconds_);
  observer_.reset();
}

double NcclOperation::wait_until_done() noexcept {
  const SteadyClock::time_point start = SteadyClock::now();
  for (const Backoff backoff; !done();) backoff.sleep();
  return seconds_between(start, SteadyClock::now());
}

double NcclOperation::wait() {
  collectives_.check();
  if (!is_settled_) ticket_->hold_up_device();
  return 0;
}

void NcclOperation::observe(std::shared_ptr<OperationObserver> observer) {
  if (done()) {
    observer->finished(*this, seconds_);
  } else {
    observer_ = std::move(observer);
  }
}

}  // namespace eave
