// The service of a rank by itself: its requests are answered at once, in its own thread, which is the device's too.
#pragma once

#include <span>
#include <vector>

#include "eave/device.h"
#include "eave/transport.h"

namespace eave {

class OwnService {
 public:
  // Values may lie in its memory then; services work on the host's.
  void attach(Device& device);
  void detach() noexcept;
  void serve(Service* service) { service_ = service; }
  void request(std::span<const ServiceRequest> requests);

 private:
  bool answer(const ServiceRequest& request);

  Service* service_ = nullptr;
  Device* device_ = nullptr;
  Buffer staged_;
  std::vector<const ServiceRequest*> open_;  // not answered yet
};

}  // namespace eave
