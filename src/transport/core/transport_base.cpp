#include "transport/core/transport_base.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "eave/check.h"
#include "transport/core/wire.h"

namespace eave {
namespace {

[[noreturn]] void refuse_to_split(const std::string& name) {
  fail_check("split", __FILE__, __LINE__, name + " is a decorator: split the transport that it decorates");
}

}  // namespace

std::vector<int> all_ranks(int size) {
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void check_group(std::span<const int> ranks, int rank, int size) {
  if (ranks.empty()) return;
  std::string list;
  for (int each : ranks) list += " " + std::to_string(each);
  EAVE_CHECK(std::ranges::adjacent_find(ranks, std::greater_equal()) == ranks.end(), "a group must ascend:" + list);
  EAVE_CHECK(ranks.front() >= 0 && ranks.back() < size,
             "group" + list + " of a job with ranks 0 to " + std::to_string(size - 1));
  EAVE_CHECK(std::ranges::binary_search(ranks, rank), "rank " + std::to_string(rank) + " is not in its group" + list);
}

void check_compression(const Compression& compression, ConstSlice values) {
  EAVE_CHECK(!compression.codec || compression.residual.size() == values.size(),
             "a residual of " + std::to_string(compression.residual.size()) + " values for a sum of " +
                 std::to_string(values.size()));
}

void check_owners(std::span<const ServiceRequest> requests, int size) {
  for (const ServiceRequest& each : requests)
    EAVE_CHECK(each.owner >= 0 && each.owner < size,
               "request to rank " + std::to_string(each.owner) + " of " + std::to_string(size));
}

void SingleRankService::attach(Device& device) { device_ = device.kind() == DeviceKind::kCpu ? nullptr : &device; }

void SingleRankService::detach() noexcept {
  device_ = nullptr;
  staged_ = {};
}

bool SingleRankService::answer(const ServiceRequest& request) {
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

void SingleRankService::request(std::span<const ServiceRequest> requests) {
  EAVE_CHECK(service_ || requests.empty(), "rank 0 answers no requests");
  open_.clear();
  for (const ServiceRequest& each : requests) open_.push_back(&each);
  while (!open_.empty()) {
    const auto answered = std::erase_if(open_, [this](const ServiceRequest* each) { return answer(*each); });
    EAVE_CHECK(answered > 0, "a request waits for its turn, and there is no other to bring it");
  }
}

std::unique_ptr<Transport> Transport::split(int) { refuse_to_split(name()); }
std::unique_ptr<Wire> Wire::split(int) { refuse_to_split(name()); }

}  // namespace eave
