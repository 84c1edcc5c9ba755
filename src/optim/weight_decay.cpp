#include "optim/weight_decay.h"

#include <algorithm>

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

bool decays_as_matrix(const TensorInfo& tensor) { return tensor.shape.size() >= 2; }

OptionSpec weight_decay_option() {
  return {"weight-decay", OptionType::kReal, "0",
          "sgd: add this times the parameters to the gradient; adamw: shrink the parameters by lr times this"};
}

OptionSpec weight_decay_of_option() {
  return {
      "weight-decay-of",
      OptionType::kText,
      "all",
      "parameters that decay: all, or matrices (tensors with 2 or more dimensions), not biases and norms; with text, "
      "matrices unless given",
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

}  // namespace eave
