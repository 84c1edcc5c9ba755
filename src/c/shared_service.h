// Lets several averagers of a rank answer requests at a time: a transport has one service.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/decorators/forwarding.h"

namespace eave {

// The service of a rank's transport. It passes each request on to the averager whose number the key holds.
class SharedService final : public Service {
 public:
  explicit SharedService(Transport& transport) : transport_(transport) {}

  bool is_of(const Transport& transport) const { return &transport == &transport_; }
  // Collective. A number for an averager, equal on all ranks. An averager that an exception has left on one rank alone
  // keeps its number there.
  std::int64_t take_number();

  // Collective. As Transport::serve, for one averager.
  void serve(std::int64_t number, Service* service);
  // As Transport::withdraw. The other averagers of this rank get no answers either until the next serve().
  void withdraw(std::int64_t number) noexcept;

  bool answer(int from, std::int64_t key, Slice values) override;

 private:
  Transport& transport_;
  std::int64_t opened_ = 0;
  std::mutex mutex_;  // held while a request is answered
  std::map<std::int64_t, Service*> services_;
};

// The service that the open averagers of this thread's rank share.
std::shared_ptr<SharedService> share_service(Transport& transport);

// The transport of one averager that sends requests, above `inner`. `ranks`: the transport of the session, below it.
// Only one request() may be in flight. Making it is collective.
class ServingTransport final : public ForwardingTransport {
 public:
  ServingTransport(Transport& inner, Transport& ranks);

  std::int64_t number() const { return number_; }  // of the averager in this job, the same on all ranks

  void serve(Service* service) override { shared_->serve(number_, service); }
  Pending request(std::span<const ServiceRequest> requests) override;
  void withdraw() noexcept override { shared_->withdraw(number_); }

 private:
  const std::shared_ptr<SharedService> shared_;
  const std::int64_t number_;
  std::vector<ServiceRequest> requests_;  // those in flight
};

}  // namespace eave
