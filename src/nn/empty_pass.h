// A training step of a rank without samples, where batch norm spans all ranks.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "nn/step_plan.h"

namespace eave {

// Meets the others in every layer that spans ranks, in the order of StepPlan's passes, and adds nothing.
class EmptyPass {
 public:
  // `graph` and `compute` outlive it.
  EmptyPass(const Graph& graph, Compute& compute);

  // Of the call only parameters, moving statistics and `ranks` are looked at.
  void forward(const StepCall& call);
  // Also behind a StepPlan's forward. `gradients` are 0 already, and are told of as by StepPlan::backward.
  void backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready);

 private:
  const Graph& graph_;
  std::vector<std::unique_ptr<LayerPlan>> plans_;  // by node; nullptr: it meets nobody
  std::vector<float> saved_;
};

}  // namespace eave
