#include "transport/own_service.h"

#include "eave/check.h"

namespace eave {

void OwnService::request(std::span<const ServiceRequest> requests) {
  EAVE_CHECK(service_ || requests.empty(), "rank 0 answers no requests");
  open_.clear();
  for (const ServiceRequest& each : requests) open_.push_back(&each);
  while (!open_.empty()) {
    const auto answered = std::erase_if(
        open_, [this](const ServiceRequest* each) { return service_->answer(0, each->key, each->values); });
    EAVE_CHECK(answered > 0, "a request waits for its turn, and there is no other to bring it");
  }
}

}  // namespace eave
