#include "transport/core/operation.h"

#include <utility>

namespace eave {

void Operation::reuse(const Request& request) {
  request_ = request;
  next = nullptr;
  failure_ = nullptr;
  seconds_ = 0;
  done_.store(false, std::memory_order_relaxed);
  free_.store(false, std::memory_order_relaxed);
}

void Operation::start() noexcept { started_ = SteadyClock::now(); }

void Operation::finish(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  seconds_ = seconds_between(started_, SteadyClock::now());
  failure_ = std::move(failure);
  request_.mark.reset();
  if (observer_) observer_->finished(*this, seconds_);
  observer_.reset();
  done_.store(true, std::memory_order_release);
  finished_.notify_all();
}

double Operation::wait_until_done() noexcept {
  if (Operation::done()) return 0;
  const SteadyClock::time_point start = SteadyClock::now();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return Operation::done(); });
  return seconds_between(start, SteadyClock::now());
}

double Operation::wait() {
  const double seconds = Operation::wait_until_done();
  if (failure_) std::rethrow_exception(failure_);
  return seconds;
}

void Operation::observe(std::shared_ptr<OperationObserver> observer) {
  const std::lock_guard lock(mutex_);
  if (Operation::done()) {
    observer->finished(*this, seconds_);
  } else {
    observer_ = std::move(observer);
  }
}

std::shared_ptr<Operation> OperationPool::take(const Operation::Request& request) {
  for (const std::shared_ptr<Operation>& operation : operations_) {
    if (!operation->is_free()) continue;
    operation->reuse(request);
    return operation;
  }
  operations_.push_back(std::make_shared<Operation>());
  operations_.back()->reuse(request);
  return operations_.back();
}

Pending::Pending() noexcept = default;
Pending::Pending(std::shared_ptr<Operation> operation) noexcept : operation_(std::move(operation)) {}
Pending::Pending(Pending&& other) noexcept : operation_(std::move(other.operation_)) {}

Pending& Pending::operator=(Pending&& other) noexcept {
  Pending released(std::move(*this));
  operation_ = std::move(other.operation_);
  return *this;
}

Pending::~Pending() {
  if (!operation_) return;
  operation_->wait_until_done();
  operation_->set_free();
}

bool Pending::done() const { return !operation_ || operation_->done(); }

double Pending::wait() {
  if (!operation_) return 0;
  Pending waited(std::move(*this));  // its destructor frees the operation if wait() throws
  const double seconds = waited.operation_->wait();
  std::exchange(waited.operation_, nullptr)->set_free();  // ~Pending would wait for a device
  return seconds;
}

}  // namespace eave
