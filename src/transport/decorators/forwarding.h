// The base of transports that override single calls, and pass all others on to another transport.
#pragma once

#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Passes every call on to `inner`, which must outlive it. Like all decorators it does not pass on split(). `Kind` is
// Transport, or an interface derived from it.
template <class Kind>
class Forwarding : public Kind {
 public:
  explicit Forwarding(Transport& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return inner_.name(); }
  void attach(Device& device) override { inner_.attach(device); }
  void detach() noexcept override { inner_.detach(); }
  Pending all_reduce_sum(Slice values, std::span<const int> ranks = {}, const Compression& compression = {}) override {
    return inner_.all_reduce_sum(values, ranks, compression);
  }
  Pending broadcast(Slice values, int root) override { return inner_.broadcast(values, root); }
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override {
    return inner_.texts(mine, route);
  }
  Slice lend(std::size_t size) override { return inner_.lend(size); }
  std::size_t bytes_of_others() const override { return inner_.bytes_of_others(); }
  void serve(Service* service) override { inner_.serve(service); }
  Pending request(std::span<const ServiceRequest> requests) override { return inner_.request(requests); }
  std::size_t request_length() const override { return inner_.request_length(); }
  void withdraw() noexcept override { inner_.withdraw(); }
  ControlChannel* control() override { return inner_.control(); }
  const CallRecord* calls() const override { return inner_.calls(); }
  std::shared_ptr<const CallRecord> device_calls() const override { return inner_.device_calls(); }
  void abort(ExitCode code) noexcept override { inner_.abort(code); }

 protected:
  Transport& inner_;
};

using ForwardingTransport = Forwarding<Transport>;

}  // namespace eave
