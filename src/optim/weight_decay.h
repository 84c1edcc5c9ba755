// The options of weight decay, which have one meaning for every optimizer that has them.
#pragma once

#include <string>

#include "eave/optimizer.h"

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

}  // namespace eave
