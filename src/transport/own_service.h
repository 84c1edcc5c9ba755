// The service of a rank by itself: its requests are answered at once, in its own thread.
#pragma once

#include <span>
#include <vector>

#include "eave/transport.h"

namespace eave {

class OwnService {
 public:
  void serve(Service* service) { service_ = service; }
  void request(std::span<const ServiceRequest> requests);

 private:
  Service* service_ = nullptr;
  std::vector<const ServiceRequest*> open_;  // not answered yet
};

}  // namespace eave
