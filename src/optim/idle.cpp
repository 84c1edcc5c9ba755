// The optimizer of a replica whose communicator moves the parameters itself.
#include "eave/check.h"
#include "eave/optimizer.h"
#include "eave/update_steps.h"

namespace eave {
namespace {

class Idle final : public Optimizer {
 public:
  std::shared_ptr<DeviceAnswer> update(Slice, ConstSlice, double, const std::optional<Pull>&, float) override {
    EAVE_CHECK(false, "this communicator moves the parameters itself");
    return nullptr;
  }
  std::vector<Slice> state() override { return {}; }
  std::string equation() const override { return "none: the communicator moves the parameters, by the gradients"; }
};

}  // namespace

std::unique_ptr<Optimizer> make_idle_optimizer() { return std::make_unique<Idle>(); }

}  // namespace eave
