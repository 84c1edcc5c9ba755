// Adam with decoupled weight decay (Loshchilov, Hutter 2019). t = 1, 2, … counts the calls of update.
//   m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;  x <- x - eta (m/(1 - b1^t) / (sqrt(v/(1 - b2^t)) + eps) + wd x)
#include <cmath>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/check.h"
#include "eave/device.h"
#include "eave/optimizer.h"
#include "eave/update_steps.h"
#include "optim/weight_decay.h"

namespace eave {
namespace {

struct AdamwSettings {
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
};

// Refuses the default of --lr. It suits sgd, and with adamw it would ruin a run silently.
void require_own_rate(const OptionValues& values) {
  const auto rate = values.entries().find("lr");
  if (rate == values.entries().end() || rate->second.is_set) return;
  throw Error(ExitCode::kUsage, "--optimizer adamw needs a learning rate of its own: the default of --lr, " +
                                    rate->second.text + ", is for sgd; --lr 0.001 is usual");
}

AdamwSettings read_adamw_settings(const OptionValues& values) {
  require_own_rate(values);
  AdamwSettings settings;
  settings.beta1 = real_in(values, "adam-beta1", 0, 1);
  settings.beta2 = real_in(values, "adam-beta2", 0, 1);
  // epsilon is above 0, because the arena's padding computes 0 / (0 + epsilon).
  settings.epsilon = real_in(values, "adam-epsilon", 1e-30, 1);
  return settings;
}

class Adamw final : public Optimizer {
 public:
  Adamw(const AdamwSettings& settings, const OptimizerContext& context)
      : settings_(settings),
        decay_(context),
        device_(context.device),
        first_(device_.allocate(static_cast<std::size_t>(context.arena_size))),
        second_(device_.allocate(static_cast<std::size_t>(context.arena_size))) {}

  std::shared_ptr<DeviceAnswer> update(Slice parameters, ConstSlice gradients, double learning_rate,
                                       const std::optional<Pull>& pull, float clip) override {
    const double t = static_cast<double>(++steps_);
    AdamwStep step;
    step.rate = static_cast<float>(learning_rate / (1 - std::pow(settings_.beta1, t)));
    step.root_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(settings_.beta2, t)));
    step.beta1 = static_cast<float>(settings_.beta1);
    step.fresh1 = static_cast<float>(1 - settings_.beta1);
    step.beta2 = static_cast<float>(settings_.beta2);
    step.fresh2 = static_cast<float>(1 - settings_.beta2);
    step.epsilon = static_cast<float>(settings_.epsilon);
    step.clip = clip;
    step.decay = static_cast<float>(learning_rate * decay_.factor());
    return device_.update_adamw(parameters, gradients, first_.slice(), second_.slice(), step, pull ? &*pull : nullptr,
                                decay_.shares());
  }

  std::vector<Slice> state() override { return {first_.slice(), second_.slice()}; }

  std::int64_t* update_count() override { return &steps_; }

  std::string equation() const override {
    const std::string b1 = number_text(settings_.beta1), b2 = number_text(settings_.beta2);
    const std::string decay = decay_.factor() > 0 ? " + " + number_text(decay_.factor()) + " x" : "";
    return "adamw: m <- " + b1 + " m + (1 - " + b1 + ") g; v <- " + b2 + " v + (1 - " + b2 +
           ") g^2; x <- x - lr (m/(1 - " + b1 + "^t) / (sqrt(v/(1 - " + b2 + "^t)) + " +
           number_text(settings_.epsilon) + ")" + decay + ")" + decay_.describe();
  }

 private:
  AdamwSettings settings_;
  WeightDecay decay_;
  Device& device_;
  Buffer first_, second_;
  std::int64_t steps_ = 0;
};

}  // namespace

OptimizerKind describe_optimizer_adamw() {
  return {"adamw",
          "Adam with decoupled weight decay",
          {{"adam-beta1", OptionType::kReal, "0.9", "share of the mean gradient that a step keeps"},
           {"adam-beta2", OptionType::kReal, "0.999", "share of the mean squared gradient that a step keeps"},
           {"adam-epsilon", OptionType::kReal, "1e-8", "term to add to the square root of the mean squared gradient"},
           weight_decay_option(),
           weight_decay_of_option()},
          [](const OptimizerContext& context) -> std::unique_ptr<Optimizer> {
            return std::make_unique<Adamw>(read_adamw_settings(context.values), context);
          }};
}

}  // namespace eave
