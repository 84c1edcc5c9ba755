// Lets tests that use host memory test a transport on a device's memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eave/device.h"
#include "transport/core/operation.h"
#include "transport/decorators/forwarding.h"

namespace eave {

// Copies all values to the device before an operation, and back when the last operation on them is done.
class OnDevice final : public ForwardingTransport {
 public:
  // Collective. `inner` and `device` must outlive this object.
  OnDevice(Transport& inner, Device& device, std::string name);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  std::string name() const override { return name_; }
  void attach(Device&) override {}
  void detach() noexcept override {}
  Pending all_reduce_sum(Slice values, std::span<const int> ranks = {}, const Compression& compression = {}) override;
  Pending broadcast(Slice values, int root) override;
  Pending request(std::span<const ServiceRequest> requests) override;

 private:
  struct Mirror {
    Slice host;
    Buffer device;
    int in_flight = 0;
    Slice slice() { return device.slice().first(host.size()); }
  };

  class Mirrored final : public Operation {
   public:
    explicit Mirrored(Device& device) : device_(device) {}
    void set_out(Pending inner);
    bool done() noexcept override;
    double wait_until_done() noexcept override;
    double wait() override;

    std::vector<Mirror*> mirrors;
    std::vector<ServiceRequest> requests;

   private:
    void bring_back();

    Device& device_;
    Pending inner_;
  };

  Slice mirror(Slice host, Mirrored& operation);
  std::shared_ptr<Mirrored> take();

  Device& device_;
  const std::string name_;
  std::vector<std::unique_ptr<Mirror>> mirrors_;
  std::vector<std::shared_ptr<Mirrored>> operations_;
  Attachment attachment_;
};

}  // namespace eave
