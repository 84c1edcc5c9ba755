// A reference for tests: a model computed in double, from its text and the layers' definitions. It uses plain loops and
// Eigen, without fusion or plans.
#pragma once

#include <string>
#include <vector>

#include "eave/batch.h"
#include "eave/model.h"

namespace eave {

// The model's mean loss over the batch in training mode (dropout with `seed`, batch statistics of this batch), as a
// function of `parameters` (the arena's layout) and inputs.
struct ReferenceResult {
  double loss = 0;
  std::vector<double> logits;
};
ReferenceResult reference_loss(const std::string& specification, ImageShape input, int classes, const Batch& batch,
                               std::uint64_t seed, const std::vector<TensorInfo>& tensors,
                               const std::vector<double>& parameters, double smoothing = 0);

}  // namespace eave
