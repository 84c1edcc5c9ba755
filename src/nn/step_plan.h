// A graph planned for a number of samples: the plans of its layers, and the place of every value in one arena.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "nn/graph.h"

namespace eave {

// Assigns places in one block of memory to values that live for a part of a step.
//
// Sizes and offsets in floats; every place begins at a multiple of 16. take's time grows with the number of gaps
// between taken places, and not with the number of these: a deep model has many places and few gaps.
class ArenaPlanner {
 public:
  std::int64_t take(std::int64_t size);  // returns the lowest free place
  void release(std::int64_t offset);     // frees a place that take returned
  std::int64_t peak() const { return peak_; }

 private:
  static constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
  std::unordered_map<std::int64_t, std::int64_t> taken_;       // taken places: offset → end
  std::map<std::int64_t, std::int64_t> gaps_ = {{0, kNoEnd}};  // free places, the same; no two touch each other
  std::int64_t peak_ = 0;
};

// The arguments of a pass. The arena has arena_size() floats, and its contents mean nothing between steps.
struct StepCall {
  ConstSlice inputs;  // as Compute::begin_pass returned them
  ConstSlice parameters, statistics;
  Slice moving_statistics;  // the same as statistics; empty in evaluation
  Slice arena;
  // Not empty: forward only, as in evaluation, except that batch norm measures these.
  Slice measured_statistics = {};
  // In training: through it batch norm spans all ranks. nullptr: it does not.
  MomentExchange* ranks = nullptr;
};

// A node's part of a vector of the whole model; empty if the vector is.
template <class AnySlice>
AnySlice of_node(AnySlice of_model, std::int64_t offset, std::int64_t size) {
  return of_model.empty() ? AnySlice()
                          : of_model.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

struct LossSettings {
  // If the last layer can, it computes the loss with its own work, so that the logits of all rows are never in memory
  // at once. forward() then returns no logits.
  bool in_last_layer = false;
  float smoothing = 0;  // in training, as in LossShape
};

class StepPlan {
 public:
  // `graph` and `compute` must outlive the plan.
  StepPlan(const Graph& graph, Compute& compute, std::int64_t samples, bool training, const LossSettings& loss = {});

  std::int64_t arena_size() const { return arena_size_; }
  ConstSlice forward(const StepCall& call);  // returns the logits, if there are any
  // Follows forward. Computes the loss and, in training, what backward needs of its gradient. `gradients` are those
  // that backward will get.
  void compute_loss(const StepCall& call, Slice gradients);
  void backward(const StepCall& call, Slice gradients, const std::function<void(Slice)>& ready);

 private:
  struct Step {
    std::unique_ptr<LayerPlan> work;
    std::unique_ptr<UnaryPlan> projection;  // subsamples and widens the skip; nullptr if it fits
    std::int64_t output = -1, saved = -1;
    // projected: the result of `projection`. d_projected: the gradient of the skip itself.
    std::int64_t projected = -1, d_projected = -1;
    std::int64_t d_input = -1;
    std::vector<std::int64_t> d_outputs;  // parts of the output's gradient, in the order in which backward makes them
  };

  void plan_loss(const LayerUse& use, const LossSettings& settings);
  std::size_t count_forward() const { return steps_.size() - (last_layer_ ? 1 : 0); }  // the nodes that forward runs
  void place_forward(ArenaPlanner& planner);
  void place_backward(ArenaPlanner& planner);
  void place_last_gradient(ArenaPlanner& planner);
  std::vector<int> last_readers() const;
  void release_last_uses(ArenaPlanner& planner, std::size_t node, const std::vector<int>& readers);

  const Node& owner_of(std::size_t node) const;     // of the parameters that the node reads
  std::int64_t input_size(std::size_t node) const;  // of all samples together
  std::int64_t output_size(std::size_t node) const;
  ConstSlice activation(const StepCall& call, std::size_t index) const;
  ConstSlice skip(const StepCall& call, std::size_t node);
  void run_last_layer(const StepCall& call, Slice gradients);
  void sum_gradients(const StepCall& call, std::size_t node, Slice& d_output, ConstSlice& d_more);
  void run_backward(const StepCall& call, std::size_t node, Slice d_parameters);

  const Graph& graph_;
  Compute& compute_;
  std::int64_t samples_;
  bool training_;
  std::vector<Step> steps_;
  std::unique_ptr<LossShape::Plan> loss_;
  std::unique_ptr<LossLayerPlan> last_layer_;  // instead of the last step's work and of loss_
  std::vector<bool> wants_gradient_;           // by activation: it depends on parameters
  std::int64_t scratch_ = 0, scratch_size_ = 0;
  std::int64_t arena_size_ = 0;
};

// The training step of a rank without samples, if batch norm spans all ranks.
//
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
