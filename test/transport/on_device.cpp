#include "test/transport/on_device.h"

#include <algorithm>
#include <utility>

namespace eave {

OnDevice::OnDevice(Transport& inner, Device& device, std::string name)
    : ForwardingTransport(inner), device_(device), name_(std::move(name)), attachment_(inner, device) {}

Pending OnDevice::all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) {
  const std::shared_ptr<Mirrored> operation = take();
  operation->set_out(ForwardingTransport::all_reduce_sum(mirror(values, *operation), ranks, compression));
  return Pending(operation);
}

Pending OnDevice::broadcast(Slice values, int root) {
  const std::shared_ptr<Mirrored> operation = take();
  operation->set_out(ForwardingTransport::broadcast(mirror(values, *operation), root));
  return Pending(operation);
}

Pending OnDevice::request(std::span<const ServiceRequest> requests) {
  const std::shared_ptr<Mirrored> operation = take();
  for (const ServiceRequest& each : requests)
    operation->requests.push_back({each.owner, each.key, mirror(each.values, *operation)});
  operation->set_out(ForwardingTransport::request(operation->requests));
  return Pending(operation);
}

std::shared_ptr<OnDevice::Mirrored> OnDevice::take() {
  auto free = std::ranges::find_if(operations_, [](const auto& each) { return each->is_free(); });
  if (free == operations_.end()) free = operations_.insert(free, std::make_shared<Mirrored>(device_));
  // If a call threw, its mirrors are still listed here. No operation uses them any more.
  for (Mirror* each : (*free)->mirrors) --each->in_flight;
  (*free)->mirrors.clear();
  (*free)->requests.clear();
  return *free;
}

Slice OnDevice::mirror(Slice host, Mirrored& operation) {
  if (host.empty()) return {};
  auto found = std::ranges::find_if(
      mirrors_, [&](const auto& each) { return each->in_flight > 0 && each->host.data() == host.data(); });
  if (found == mirrors_.end()) {
    found = std::ranges::find_if(
        mirrors_, [&](const auto& each) { return each->in_flight == 0 && each->device.size() >= host.size(); });
    if (found == mirrors_.end()) found = mirrors_.insert(found, std::make_unique<Mirror>());
    if ((*found)->device.size() < host.size()) (*found)->device = device_.allocate(host.size());
    (*found)->host = host;
    device_.write((*found)->slice(), host);
  }
  EAVE_CHECK((*found)->host.size() == host.size(), "slices in flight overlap");
  ++(*found)->in_flight;
  operation.mirrors.push_back(found->get());
  return (*found)->slice();
}

void OnDevice::Mirrored::set_out(Pending inner) {
  reuse({});
  inner_ = std::move(inner);
}

bool OnDevice::Mirrored::done() noexcept {
  if (!inner_.done()) return false;
  wait_until_done();
  return true;
}

double OnDevice::Mirrored::wait_until_done() noexcept {
  inner_ = {};
  bring_back();
  return 0;
}

double OnDevice::Mirrored::wait() {
  const SteadyClock::time_point start = SteadyClock::now();
  inner_.wait();
  bring_back();
  return seconds_between(start, SteadyClock::now());
}

void OnDevice::Mirrored::bring_back() {
  for (Mirror* each : mirrors)
    if (--each->in_flight == 0) device_.read(each->slice(), each->host);
  mirrors.clear();
}

}  // namespace eave
