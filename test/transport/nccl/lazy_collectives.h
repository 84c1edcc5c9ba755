// A stand-in for NCCL: collectives between lazy devices, for ranks that are threads of this process.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "device/device_collectives.h"
#include "test/transport/lazy_device.h"

namespace eave {

// The properties that a test gives to a rank's library and device.
struct LazyLibrary {
  std::string bus_id = "0000:00:00.0";
  std::string name = "lazy 1.0";
  bool makes_words = true;
  int operations_until_failure = -1;  // this rank fails after so many, and the other ranks notice; -1: never
};

// A lazy device with collectives. Sums are added up in rank order. An operation takes place some time after this device
// and all other ranks are ready for it.
class CollectiveLazyDevice final : public LazyDevice, public CollectiveDevice {
 public:
  explicit CollectiveLazyDevice(LazyLibrary library) : library_(std::move(library)) {}
  std::string bus_id() const override { return library_.bus_id; }
  std::string collective_library() const override { return library_.name; }
  std::unique_ptr<DeviceCollectives> make_collectives() override;

  std::atomic<int> operations{0};       // that its library has carried out
  std::atomic<int> groups{0};           // that were made
  std::atomic<int> in_flight{0};        // operations that were requested and are not done
  std::function<void()> before_taking;  // if set: the library calls it in each call, before it takes the operation

 protected:
  bool is_busy() override { return in_flight > 0 || LazyDevice::is_busy(); }

 private:
  const LazyLibrary library_;
};

}  // namespace eave
