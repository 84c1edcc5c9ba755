// Adam with decoupled weight decay (Loshchilov, Hutter 2019). t = 1, 2, … counts the calls of update.
//   m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  x <- x - eta (m/(1 - b1^t) / (sqrt(v/(1 - b2^t)) + eps) + wd x)
#include "eave/device.h"
#include "eave/optimizer.h"
#include "eave/update_steps.h"
#include "optim/common_settings.h"

namespace eave {
namespace {

class Adamw final : public Optimizer {
 public:
  explicit Adamw(const OptimizerContext& context)
      : settings_(read_adam_settings(context.values, "adamw")),
        decay_(context),
        device_(context.device),
        first_(device_.allocate(static_cast<std::size_t>(context.arena_size))),
        second_(device_.allocate(static_cast<std::size_t>(context.arena_size))) {}

  std::shared_ptr<DeviceAnswer> update(Slice parameters, ConstSlice gradients, double learning_rate,
                                       const std::optional<Pull>& pull, float clip) override {
    const AdamwStep step = adam_step(settings_, ++steps_, learning_rate, decay_.factor(), clip);
    return device_.update_adamw(parameters, gradients, first_.slice(), second_.slice(), step, pull ? &*pull : nullptr,
                                decay_.shares());
  }

  std::vector<Slice> state() override { return {first_.slice(), second_.slice()}; }
  std::int64_t* update_count() override { return &steps_; }
  std::string equation() const override {
    return "adamw: " + describe_adam(settings_, decay_.factor()) + decay_.describe();
  }

 private:
  AdamSettings settings_;
  WeightDecay decay_;
  Device& device_;
  Buffer first_, second_;
  std::int64_t steps_ = 0;
};

}  // namespace

OptimizerKind describe_optimizer_adamw() {
  std::vector<OptionSpec> options = adam_options();
  options.push_back(weight_decay_option());
  options.push_back(weight_decay_of_option());
  return {
      "adamw", "Adam with decoupled weight decay", options,
      [](const OptimizerContext& context) -> std::unique_ptr<Optimizer> { return std::make_unique<Adamw>(context); }};
}

}  // namespace eave
