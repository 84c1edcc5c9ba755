// The service of a rank by itself. The device's thread, which sends the requests, answers them at once.
#pragma once

#include <span>
#include <vector>

#include "eave/device.h"
#include "eave/transport.h"

namespace eave {

class OwnService {
 public:
  // Values may lie in this device's memory afterwards. Services work in host memory.
  void attach(Device& device);
  void detach() noexcept;
  void serve(Service* service) { service_ = service; }
  // Returns when all requests are answered. Throws Error(kInternal) if there is no service, or if a request never gets
  // its turn.
  void request(std::span<const ServiceRequest> requests);

 private:
  bool answer(const ServiceRequest& request);

  Service* service_ = nullptr;
  Device* device_ = nullptr;
  Buffer staged_;
  std::vector<const ServiceRequest*> open_;  // not answered yet
};

}  // namespace eave
