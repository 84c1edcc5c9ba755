// The record of the operations of a device that fails.
#include "transport/nccl/nccl_calls.h"

#include <gtest/gtest.h>

#include <vector>

#include "eave/check.h"

namespace eave {
namespace {

struct FailingTicket final : DeviceTicket {
  bool begun() override { return true; }
  bool reached() override { throw Error(ExitCode::kResource, "no answer"); }
  void hold_up_device() override {}
  double seconds() const override { return 0; }
};

// The other ranks go on counting, so numbers that are left out would make the ranks look out of step.
TEST(NcclCalls, counts_operations_of_which_the_device_does_not_tell) {
  std::vector<float> values(4);
  NcclCalls calls(2);
  FailingTicket first, second, third;
  for (FailingTicket* const ticket : {&first, &second}) {
    calls.prepare({.values = values}, *ticket);
    calls.set_out();
  }
  calls.prepare({.values = values}, third);
  EXPECT_EQ(calls.record()->collectives(), 2);
  calls.cancel();
  calls.stop();
  EXPECT_EQ(calls.record()->collectives(), 2);
  EXPECT_FALSE(calls.record()->under_way());
}

}  // namespace
}  // namespace eave
