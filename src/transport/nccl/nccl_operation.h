// An Operation that the device carries out, not a communication thread.
#pragma once

#include <memory>
#include <vector>

#include "device/device_collectives.h"
#include "transport/core/operation.h"

namespace eave {

// The device's thread uses it.
class NcclOperation final : public Operation {
 public:
  explicit NcclOperation(DeviceCollectives& collectives)
      : collectives_(collectives), ticket_(collectives.make_ticket()) {}

  DeviceTicket& ticket() { return *ticket_; }
  void set_out(const Request& request);  // call it after the device has got the ticket
  // The device has carried it out, and nobody refers to it.
  bool is_spare() noexcept { return is_free() && done(); }

  bool done() noexcept override;
  double wait_until_done() noexcept override;
  double wait() override;  // only the device waits
  void observe(std::shared_ptr<OperationObserver> observer) override;

 private:
  void settle() noexcept;

  DeviceCollectives& collectives_;
  std::unique_ptr<DeviceTicket> ticket_;
  std::shared_ptr<OperationObserver> observer_;
  double seconds_ = 0;
  bool is_settled_ = true;
};

}  // namespace eave
