// The training step of a rank without samples, if batch norm spans all ranks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "nn/step_plan.h"

namespace eave {

// Takes part in the collectives of every layer that spans ranks, in the order of StepPlan's passes. It adds nothing to
// their sums.
class EmptyPass {
 public:
  // `graph` and `compute` must outlive this object.
  EmptyPass(const Graph& graph, Compute& compute);

  // Uses only the call's parameters, moving statistics and `ranks`.
  void forward(const StepCall& call);
  // May also follow a StepPlan's forward pass. `gradients` must be 0. Reports them as StepPlan::backward does.
  void backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready);

 private:
  const Graph& graph_;
  std::vector<std::unique_ptr<LayerPlan>> plans_;  // by node; nullptr: the layer does not span ranks
  std::vector<float> saved_;
};

}  // namespace eave
