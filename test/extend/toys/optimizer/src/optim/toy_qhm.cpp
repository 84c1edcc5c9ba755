// A toy for test/extend: quasi-hyperbolic momentum (Ma, Yarats 2019).
//   v <- beta v + (1 - beta) g;  x <- x - eta ((1 - nu) g + nu v)
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/device.h"
#include "eave/optimizer.h"

namespace eave {
namespace {

class ToyQhm final : public Optimizer {
 public:
  explicit ToyQhm(const OptimizerContext& context)
      : beta_(real_in(context.values, "toy-beta", 0, 1)),
        nu_(real_in(context.values, "toy-nu", 0, 1)),
        device_(context.device),
        velocity_(device_.allocate(static_cast<std::size_t>(context.arena_size))) {}

  std::shared_ptr<DeviceAnswer> update(Slice parameters, ConstSlice gradients, double rate,
                                       const std::optional<Pull>& pull, float clip) override {
    if (pull) device_.pull_parameters(parameters, *pull);
    const std::shared_ptr<DeviceAnswer> is_finite = device_.all_finite(gradients);
    if (!is_finite->get()) return is_finite;
    device_.scale(velocity_.slice(), static_cast<float>(beta_));
    device_.add_scaled(velocity_.slice(), static_cast<float>((1 - beta_) * clip), gradients);
    device_.add_scaled(parameters, static_cast<float>(-rate * (1 - nu_) * clip), gradients);
    device_.add_scaled(parameters, static_cast<float>(-rate * nu_), velocity_.slice());
    return is_finite;
  }
  std::vector<Slice> state() override { return {velocity_.slice()}; }
  std::string equation() const override {
    const std::string beta = number_text(beta_), nu = number_text(nu_);
    return "toy-qhm: v <- " + beta + " v + (1 - " + beta + ") g; x <- x - lr ((1 - " + nu + ") g + " + nu + " v)";
  }

 private:
  double beta_, nu_;
  Device& device_;
  Buffer velocity_;
};

}  // namespace

OptimizerKind describe_optimizer_toy_qhm() {
  return {
      "toy-qhm",
      "a toy: quasi-hyperbolic momentum",
      {{"toy-beta", OptionType::kReal, "0.9", "decay of the running mean of gradients"},
       {"toy-nu", OptionType::kReal, "0.7", "share of the mean gradient in a step"}},
      [](const OptimizerContext& context) -> std::unique_ptr<Optimizer> { return std::make_unique<ToyQhm>(context); }};
}

}  // namespace eave
