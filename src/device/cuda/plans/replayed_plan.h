// A layer's plan inside passes that are recorded and replayed.
#pragma once

#include <memory>
#include <utility>

#include "device/cuda/passes/pass_recorder.h"
#include "eave/compute.h"

namespace eave::cuda {

// Calls the plan only if the pass is not being replayed: in a replay, the plan's work is already part of a graph.
class ReplayedPlan final : public LinearPlan {
 public:
  ReplayedPlan(PassRecorder& recorder, std::unique_ptr<LinearPlan> plan)
      : recorder_(recorder), plan_(std::move(plan)) {}
  std::int64_t saved_size() const override { return plan_->saved_size(); }
  std::int64_t scratch_size() const override { return plan_->scratch_size(); }
  void forward(const LinearForward& call) override {
    if (recorder_.enqueues()) plan_->forward(call);
  }
  void backward(const LinearBackward& call) override {
    if (recorder_.enqueues()) plan_->backward(call);
  }

 private:
  PassRecorder& recorder_;
  std::unique_ptr<LinearPlan> plan_;
};

}  // namespace eave::cuda
