// Small notes of the ranks about a step's gradients. They travel in one small sum, at the same time as the gradients.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// One flag for each tensor of the model; 0: it has no gradient.
using TensorFlags = std::span<std::uint8_t>;

class GradientNotes {
 public:
  explicit GradientNotes(Transport& transport) : transport_(transport) {}

  // Collective, with the same number of tensors on each rank; then call finish(). `counts`: whether this rank has
  // samples in this step, so that its gradients have weight in the mean.
  void start(bool is_finite, bool counts, TensorFlags has_gradient);
  // Sets each flag that is set on any rank that counts. Returns which ranks' gradients are not finite, such as " on
  // rank 2"; "" if all are finite.
  std::string finish(TensorFlags has_gradient);

 private:
  Transport& transport_;
  // The number of ranks that are not finite, the sum of those ranks, then a flag per tensor.
  std::vector<float> values_;
  Pending pending_;
};

}  // namespace eave
