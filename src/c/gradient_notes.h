// What the ranks tell each other of a step's gradients, beside them: in one small sum that runs along with theirs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// One flag for each tensor of the model: 0 if it has no gradient.
using TensorFlags = std::span<std::uint8_t>;

class GradientNotes {
 public:
  explicit GradientNotes(Transport& transport) : transport_(transport) {}

  // Collective, with as many tensors on each rank; finish() follows. `counts`: this rank has samples in this step, so
  // its gradients weigh in the mean.
  void start(bool is_finite, bool counts, TensorFlags has_gradient);
  // Each flag becomes what holds on any rank that counts. Returns which ranks' gradients are not finite: " on rank 2";
  // "" if all are.
  std::string finish(TensorFlags has_gradient);

 private:
  Transport& transport_;
  std::vector<float> values_;  // ranks that are not finite, the sum of their numbers, flags of tensors
  Pending pending_;
};

}  // namespace eave
