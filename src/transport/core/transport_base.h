// The parts that all implementations of Transport share: checks of arguments, and the service of a rank that is alone.
// The checks throw Error(kInternal) if a caller breaks the contract.
#pragma once

#include <span>
#include <vector>

#include "eave/device.h"
#include "eave/transport.h"

namespace eave {

// Throws unless `ranks` is empty, or ascends within 0 … size − 1 and contains `rank`.
void check_group(std::span<const int> ranks, int rank, int size);

// Throws unless the residual has as many values as the slice.
void check_compression(const Compression& compression, ConstSlice values);

// Throws unless every owner is one of `size` ranks.
void check_owners(std::span<const ServiceRequest> requests, int size);

// The service of a rank by itself. The device's thread, which sends the requests, answers them at once.
class SingleRankService {
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
