#include "optim/common_settings.h"

#include <algorithm>
#include <cmath>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/check.h"

namespace eave {
namespace {

std::vector<float> shares_of_matrices(const OptimizerContext& context) {
  EAVE_CHECK(!context.tensors.empty(), "the shapes of the tensors are known");
  const auto size = static_cast<std::size_t>(context.arena_size);
  std::vector<float> shares((size + kDecayBlock - 1) / kDecayBlock);
  for (const TensorInfo& tensor : context.tensors) {
    if (!decays_as_matrix(tensor)) continue;
    const auto begin = static_cast<std::size_t>(tensor.offset), end = begin + static_cast<std::size_t>(tensor.size);
    EAVE_CHECK(begin % kDecayBlock == 0 && end <= size, "tensors begin at blocks");
    std::fill(shares.begin() + static_cast<std::ptrdiff_t>(begin / kDecayBlock),
              shares.begin() + static_cast<std::ptrdiff_t>((end + kDecayBlock - 1) / kDecayBlock), 1.0f);
  }
  return shares;
}

}  // namespace

void require_own_rate(const OptionValues& values, const std::string& optimizer) {
  const auto rate = values.entries().find("lr");
  if (rate == values.entries().end() || rate->second.is_set) return;
  throw Error(ExitCode::kUsage, "--optimizer " + optimizer +
                                    " needs a learning rate of its own: the default of --lr, " + rate->second.text +
                                    ", is for sgd; --lr 0.001 is usual");
}

bool decays_as_matrix(const TensorInfo& tensor) { return tensor.shape.size() >= 2; }

OptionSpec weight_decay_option() {
  return {"weight-decay", OptionType::kReal, "0",
          "sgd: add this times the parameters to the gradient; adamw, muon: shrink the parameters by lr times this"};
}

OptionSpec weight_decay_of_option() {
  return {
      "weight-decay-of",
      OptionType::kText,
      "all",
      "parameters that decay: all, or matrices (tensors with 2 or more dimensions), not biases and norms; with text, "
      "matrices unless given. mdownpour lacks this option: all parameters decay",
      {"all", "matrices"}};
}

WeightDecay::WeightDecay(const OptimizerContext& context) : factor_(real_in(context.values, "weight-decay", 0, 1e6)) {
  if (factor_ == 0) {
    if (context.values.given("weight-decay-of") && context.values.text("weight-decay-of") != "all")
      refuse_option(context.values, "weight-decay-of", "has no effect without --weight-decay");
    return;
  }
  if (context.values.text("weight-decay-of") == "all") return;
  const std::vector<float> shares = shares_of_matrices(context);
  shares_ = context.device.allocate(shares.size());
  context.device.write(shares_.slice(), shares);
}

std::string WeightDecay::describe() const {
  return shares_.size() == 0 ? "" : "; weight decay of tensors with 2 or more dimensions only";
}

std::vector<OptionSpec> adam_options() {
  return {{"adam-beta1", OptionType::kReal, "0.9", "decay of the running mean of gradients"},
          {"adam-beta2", OptionType::kReal, "0.999", "decay of the running mean of squared gradients"},
          {"adam-epsilon", OptionType::kReal, "1e-8", "term to add to the square root of the mean squared gradient"}};
}

AdamSettings read_adam_settings(const OptionValues& values, const std::string& optimizer) {
  require_own_rate(values, optimizer);
  AdamSettings settings;
  settings.beta1 = real_in(values, "adam-beta1", 0, 1);
  settings.beta2 = real_in(values, "adam-beta2", 0, 1);
  // epsilon is above 0, because the arena's padding computes 0 / (0 + epsilon).
  settings.epsilon = real_in(values, "adam-epsilon", 1e-30, 1);
  return settings;
}

AdamwStep adam_step(const AdamSettings& settings, std::int64_t steps, double learning_rate, double decay, float clip) {
  const auto t = static_cast<double>(steps);
  AdamwStep step;
  step.rate = static_cast<float>(learning_rate / (1 - std::pow(settings.beta1, t)));
  step.root_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(settings.beta2, t)));
  step.beta1 = static_cast<float>(settings.beta1);
  step.fresh1 = static_cast<float>(1 - settings.beta1);
  step.beta2 = static_cast<float>(settings.beta2);
  step.fresh2 = static_cast<float>(1 - settings.beta2);
  step.epsilon = static_cast<float>(settings.epsilon);
  step.clip = clip;
  step.decay = static_cast<float>(learning_rate * decay);
  return step;
}

std::string describe_adam(const AdamSettings& settings, double decay) {
  const std::string b1 = number_text(settings.beta1), b2 = number_text(settings.beta2);
  return "m <- " + b1 + " m + (1 - " + b1 + ") g; v <- " + b2 + " v + (1 - " + b2 + ") g^2; x <- x - lr (m/(1 - " + b1 +
         "^t) / (sqrt(v/(1 - " + b2 + "^t)) + " + number_text(settings.epsilon) + ")" +
         (decay > 0 ? " + " + number_text(decay) + " x" : "") + ")";
}

}  // namespace eave
