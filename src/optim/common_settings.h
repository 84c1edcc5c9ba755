// Options that several optimizers share: weight decay, and Adam's numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/optimizer.h"
#include "eave/update_steps.h"

namespace eave {

OptionSpec weight_decay_option();
OptionSpec weight_decay_of_option();

// The weight decay of a run: a factor, and the parameters that it shrinks.
class WeightDecay {
 public:
  // Throws Error(kUsage).
  explicit WeightDecay(const OptimizerContext& context);
  double factor() const { return factor_; }
  // Factors of blocks, as Device::update_sgd takes them. Empty if all parameters decay alike.
  ConstSlice shares() const { return shares_.slice(); }
  // The end of an equation: "; weight decay of tensors with 2 or more dimensions only"; "" if all parameters decay.
  std::string describe() const;

 private:
  double factor_ = 0;
  Buffer shares_;
};

// Whether --weight-decay-of matrices includes the tensor: it has two or more dimensions. These are the weights of
// products, convolutions and embeddings, not biases, nor scales and shifts of norms. GPT-2 was trained so (Radford et
// al. 2019; its code and nanoGPT's separate these groups).
bool decays_as_matrix(const TensorInfo& tensor);

struct AdamSettings {
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
};

// Throws Error(kUsage) if --lr has its default. It suits sgd, and would silently ruin a run of `optimizer`.
void require_own_rate(const OptionValues& values, const std::string& optimizer);

// --adam-beta1, --adam-beta2 and --adam-epsilon.
std::vector<OptionSpec> adam_options();
// Throws Error(kUsage) if a value is impossible, or if --lr has its default.
AdamSettings read_adam_settings(const OptionValues& values, const std::string& optimizer);

// The step after `steps` − 1 others. `decay` is the weight decay, without the rate.
AdamwStep adam_step(const AdamSettings& settings, std::int64_t steps, double learning_rate, double decay, float clip);

// "m <- 0.9 m + (1 - 0.9) g; ..." up to "x <- x - lr (...)" with the weight decay `decay`.
std::string describe_adam(const AdamSettings& settings, double decay);

}  // namespace eave
