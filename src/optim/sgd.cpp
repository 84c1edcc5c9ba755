// Stochastic gradient descent:  g' = g + wd x;  v <- mu v + g';  x <- x - eta v.
//
// v does not contain the learning rate, so a new rate scales the whole step at once. This is the momentum correction of
// Goyal et al. 2017 (remark 3) without its factor. With --momentum-correction off, v <- mu v + eta g' and x <- x - v.
// Then v still contains steps at the old rate. A pull does not enter v.
//
// Nesterov's momentum steps by g' + mu v instead of v. The classical form is x <- x + w, w <- mu w - eta g'(x + mu w).
// Here it is written for the look-ahead point y = x + mu w, and the parameters hold y. The iterate is x = y + eta mu v,
// and a pull works on x: EAMSGD (Zhang, Choromanska, LeCun 2015, equations 5 and 6).

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/device.h"
#include "eave/optimizer.h"
#include "eave/update_steps.h"
#include "optim/common_settings.h"

namespace eave {
namespace {

struct SgdSettings {
  double momentum = 0;
  bool nesterov = false;
  bool correction = true;
};

SgdSettings read_sgd_settings(const OptionValues& values) {
  SgdSettings settings;
  settings.momentum = real_in(values, "momentum", 0, 1);
  settings.nesterov = values.flag("nesterov");
  settings.correction = values.flag("momentum-correction");
  if (settings.momentum > 0) return settings;
  if (settings.nesterov) refuse_option(values, "nesterov", "has no effect with --momentum 0");
  if (values.given("momentum-correction")) {
    refuse_option(values, "momentum-correction", "has no effect with --momentum 0");
  }
  return settings;
}

class Sgd final : public Optimizer {
 public:
  Sgd(const SgdSettings& settings, const OptimizerContext& context)
      : settings_(settings),
        decay_(context),
        device_(context.device),
        velocity_(device_.allocate(settings.momentum > 0 ? static_cast<std::size_t>(context.arena_size) : 0)) {}

  std::shared_ptr<DeviceAnswer> update(Slice parameters, ConstSlice gradients, double learning_rate,
                                       const std::optional<Pull>& pull, float clip) override {
    SgdStep step = step_at(learning_rate);
    step.clip = clip;
    return device_.update_sgd(parameters, gradients, velocity_.slice(), step, pull ? &*pull : nullptr, decay_.shares());
  }

  Ahead ahead(double learning_rate) override {
    if (!settings_.nesterov) return {};
    const SgdStep step = step_at(learning_rate);
    return {velocity_.slice(), step.step_scale * step.momentum};
  }

  std::vector<Slice> state() override {
    if (velocity_.size() == 0) return {};
    return {velocity_.slice()};
  }

  std::string equation() const override {
    const std::string decayed = decay_.factor() > 0 ? "(g + " + number_text(decay_.factor()) + " x)" : "g";
    if (settings_.momentum == 0) return "sgd: x <- x - lr " + decayed + decay_.describe();
    const std::string mu = number_text(settings_.momentum);
    const std::string scaled = (settings_.correction ? "" : "lr ") + decayed;
    const std::string step = settings_.nesterov ? "(" + scaled + " + " + mu + " v)" : "v";
    return "sgd: v <- " + mu + " v + " + scaled + "; x <- x - " + (settings_.correction ? "lr " : "") + step +
           decay_.describe();
  }

 private:
  SgdStep step_at(double learning_rate) const {
    const auto rate = static_cast<float>(learning_rate);
    SgdStep step;
    step.gradient_scale = settings_.correction ? 1 : rate;
    step.step_scale = settings_.correction ? rate : 1;
    step.momentum = static_cast<float>(settings_.momentum);
    step.weight_decay = static_cast<float>(decay_.factor());
    step.nesterov = settings_.nesterov;
    return step;
  }

  SgdSettings settings_;
  WeightDecay decay_;
  Device& device_;
  Buffer velocity_;
};

}  // namespace

OptimizerKind describe_optimizer_sgd() {
  return {
      "sgd",
      "stochastic gradient descent with momentum",
      {{"momentum", OptionType::kReal, "0.9", "share of the last step's velocity that a step keeps; 0: no momentum"},
       {"nesterov", OptionType::kFlag, "off", "use Nesterov's momentum"},
       {"momentum-correction", OptionType::kFlag, "on",
        "on: a new learning rate applies to the whole velocity; off: only to new gradients"},
       weight_decay_option(),
       weight_decay_of_option()},
      [](const OptimizerContext& context) -> std::unique_ptr<Optimizer> {
        return std::make_unique<Sgd>(read_sgd_settings(context.values), context);
      }};
}

}  // namespace eave
