// What NCCL is to a GPU, for lazy devices of ranks that are threads of this process.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "device/device_collectives.h"
#include "test/transport/lazy_device.h"

namespace eave {

// As a test wants them to be.
struct LazyLibrary {
  std::string bus_id = "0000:00:00.0";
  std::string name = "lazy 1.0";
  bool makes_words = true;
  int operations_until_failure = -1;  // then this rank fails, which the others notice
};

// Sums in rank order, each operation some time after both the device and the other ranks are ready.
class CollectiveLazyDevice final : public LazyDevice, public CollectiveDevice {
 public:
  explicit CollectiveLazyDevice(LazyLibrary library) : library_(std::move(library)) {}
  std::string bus_id() const override { return library_.bus_id; }
  std::string collective_library() const override { return library_.name; }
  std::unique_ptr<DeviceCollectives> make_collectives() override;

  std::atomic<int> operations{0};  // carried out by its library
  std::atomic<int> in_flight{0};   // of those

 protected:
  bool is_busy() override { return in_flight > 0 || LazyDevice::is_busy(); }

 private:
  const LazyLibrary library_;
};

}  // namespace eave
