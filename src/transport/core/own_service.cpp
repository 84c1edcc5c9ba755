#include "transport/core/own_service.h"

#include "eave/check.h"

namespace eave {

void OwnService::attach(Device& device) { device_ = device.kind() == DeviceKind::kCpu ? nullptr : &device; }

void OwnService::detach() noexcept {
  device_ = nullptr;
  staged_ = {};
}

bool OwnService::answer(const ServiceRequest& request) {
  if (!device_ || !device_->holds(request.values)) return service_->answer(0, request.key, request.values);
  if (staged_.size() < request.values.size()) {
    device_->wait();  // for the reason in StagedWire::grow
    staged_ = device_->allocate_for_host(request.values.size());
  }
  const Slice staged = staged_.slice().first(request.values.size());
  device_->read(request.values, staged);
  if (!service_->answer(0, request.key, staged)) return false;
  device_->write(request.values, staged);
  return true;
}

void OwnService::request(std::span<const ServiceRequest> requests) {
  EAVE_CHECK(service_ || requests.empty(), "rank 0 answers no requests");
  open_.clear();
  for (const ServiceRequest& each : requests) open_.push_back(&each);
  while (!open_.empty()) {
    const auto answered = std::erase_if(open_, [this](const ServiceRequest* each) { return answer(*each); });
    EAVE_CHECK(answered > 0, "a request waits for its turn, and there is no other to bring it");
  }
}

}  // namespace eave
