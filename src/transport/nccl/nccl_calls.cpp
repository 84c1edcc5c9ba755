#include "transport/nccl/nccl_calls.h"

#include <chrono>
#include <utility>

#include "base/thread.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

constexpr auto kAdvanceEvery = 50ms;
// Usually the device's library takes an operation within some microseconds.
constexpr auto kTakenAfter = 100ms;

}  // namespace

void NcclCalls::start() {
  thread_ = start_thread("to watch operations of NCCL", [this] { look(); });
}

void NcclCalls::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  is_stopping_ = false;
  advance();
  forget();
}

void NcclCalls::prepare(const Operation::Request& request, DeviceTicket& ticket) noexcept {
  const std::lock_guard lock(mutex_);
  advance();  // an earlier operation of this ticket has ended by now
  flights_.push_back({request, &ticket, SteadyClock::now()});
}

void NcclCalls::set_out() noexcept {
  const std::lock_guard lock(mutex_);
  if (!flights_.empty()) flights_.back().is_set_out = true;
}

void NcclCalls::cancel() noexcept {
  const std::lock_guard lock(mutex_);
  if (flights_.empty()) return;
  if (flights_.size() == 1 && std::exchange(is_begun_, false)) record_->end();
  flights_.pop_back();
}

void NcclCalls::look() noexcept {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kAdvanceEvery, [this] { return is_stopping_; })) advance();
}

void NcclCalls::advance() noexcept try {
  while (!flights_.empty() && has_ended(flights_.front())) end_first();
} catch (...) {  // the device has failed; its next call reports that
  forget();
}

bool NcclCalls::has_ended(Flight& first) {
  if (!first.is_set_out) {
    if (SteadyClock::now() - first.prepared > kTakenAfter) begin(first);
    return false;
  }
  if (first.ticket->reached()) return true;
  if (!is_begun_ && first.ticket->begun()) begin(first);
  return false;
}

void NcclCalls::begin(const Flight& first) noexcept {
  if (!std::exchange(is_begun_, true)) record_->begin(first.request);
}

void NcclCalls::end_first() noexcept {
  begin(flights_.front());
  record_->end();
  is_begun_ = false;
  flights_.erase(flights_.begin());
}

void NcclCalls::forget() noexcept {
  while (!flights_.empty() && flights_.front().is_set_out) end_first();
}

}  // namespace eave
