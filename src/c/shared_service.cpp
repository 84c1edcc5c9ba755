#include "c/shared_service.h"

#include <algorithm>
#include <string>

namespace eave {
namespace {

constexpr int kKeyBits = 40;  // of the averager's own key, below its number

thread_local std::weak_ptr<SharedService> shared_service;

}  // namespace

std::int64_t SharedService::take_number() {
  for (const std::string& number : transport_.all_gather(std::to_string(opened_)))
    opened_ = std::max<std::int64_t>(opened_, std::stoll(number));
  return opened_++;
}

// While the transport changes services, the former ones still answer. So a service comes before, and goes after.
void SharedService::serve(std::int64_t number, Service* service) {
  std::unique_lock lock(mutex_);
  if (service) services_[number] = service;
  const bool answers = service != nullptr || services_.size() > services_.count(number);
  lock.unlock();
  transport_.serve(answers ? this : nullptr);
  lock.lock();
  if (!service) services_.erase(number);
}

// Ends the whole service, because a request of this averager may be in flight whose reply depends on the rank's
// answers. The transport then stops waiting for that reply.
void SharedService::withdraw(std::int64_t number) noexcept {
  transport_.withdraw();
  const std::lock_guard lock(mutex_);
  services_.erase(number);
}

bool SharedService::answer(int from, std::int64_t key, Slice values) {
  const std::lock_guard lock(mutex_);
  const auto found = services_.find(key >> kKeyBits);
  return found != services_.end() && found->second->answer(from, key & ((std::int64_t{1} << kKeyBits) - 1), values);
}

std::shared_ptr<SharedService> share_service(Transport& transport) {
  std::shared_ptr<SharedService> shared = shared_service.lock();
  if (shared && shared->is_of(transport)) return shared;
  shared = std::make_shared<SharedService>(transport);
  shared_service = shared;
  return shared;
}

ServingTransport::ServingTransport(Transport& inner, Transport& ranks)
    : ForwardingTransport(inner), shared_(share_service(ranks)), number_(shared_->take_number()) {}

Pending ServingTransport::request(std::span<const ServiceRequest> requests) {
  requests_.assign(requests.begin(), requests.end());
  for (ServiceRequest& request : requests_) request.key |= number_ << kKeyBits;
  return inner_.request(requests_);
}

}  // namespace eave
