// Plans of cuDNN: the engines that fit an operation, a device and a precision. Planning runs nothing on a device. It
// does not even need one: a description of a device is enough.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/plans/cudnn_operation.h"
#include "device/cuda/plans/plans.h"

namespace eave::cuda {

// The device that plans are made for.
class PlanTarget {
 public:
  explicit PlanTarget(cudnnHandle_t handle) : handle_(handle) {}  // the device of this handle
  // A device described by the JSON that describe_device returns. Plans for it cannot be run. Needs cuDNN 9.8 or later.
  explicit PlanTarget(const std::string& description);

  cudnnHandle_t handle() const { return handle_; }
  void name_in_heuristic(Descriptor& heuristic) const;
  void name_in_engine(Descriptor& engine) const;
  void name_in_plan(Descriptor& plan) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  std::optional<Descriptor> properties_;
};

// Describes the handle's device as JSON, in cuDNN's format.
std::string describe_device(cudnnHandle_t handle);

// Limits on the engines that a plan may use.
struct PlanRules {
  bool tensor_cores = true;
  bool transforms = true;  // Winograd and Fourier transforms, which round more than sums of products do
  bool deterministic = false;
  std::int64_t most_workspace_bytes = std::int64_t{256} << 20;
};
PlanRules rules_of(Precision precision, bool deterministic);

struct NamedAddress {
  std::int64_t name;  // TensorName
  const void* address;
};

// One way to run an operation. Owns everything that it was made from.
class CudnnPlan {
 public:
  // The last element of `made_from` is the plan's engine configuration. `offer` is the beginning of choice().
  CudnnPlan(std::shared_ptr<const OperationGraph> graph, std::vector<Descriptor>&& made_from, Descriptor&& plan,
            const std::string& offer);

  const ConvolutionOperation& operation() const { return graph_->operation(); }
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  bool uses_tensor_cores() const { return tensor_cores_; }
  bool is_deterministic() const { return deterministic_; }
  bool is_compiled_at_run_time() const { return compiled_; }
  // The text by which find_plan_again finds this plan, with the same cuDNN on the same kind of device. For example, "A
  // 3, engine 12, 2048 bytes" is the fourth offer of heuristic A.
  const std::string& choice() const { return choice_; }
  // Enqueues the operation on the handle's stream. The workspace must be aligned to 256 bytes, tensors to 16.
  void run(cudnnHandle_t handle, std::span<const NamedAddress> tensors, void* workspace) const;

 private:
  std::shared_ptr<const OperationGraph> graph_;
  std::vector<Descriptor> made_from_;
  Descriptor plan_;
  std::string choice_;
  std::int64_t workspace_bytes_ = 0;
  bool tensor_cores_ = false, deterministic_ = true, compiled_ = false;
};

// Returns up to `most` plans that keep to the rules, the best of cuDNN's heuristics first. If there is no such plan,
// throws Error(kResource) with the operation and the last answer of an engine.
//
// `accepts` may refuse plans, and each refusal costs a trial run. After eight refusals the search ends. If all plans
// were refused, the result is empty. Once one plan is found, `is_spent` also may end the search: cuDNN compiles some
// plans when they are made, which takes long.
using AcceptsPlan = std::function<bool(const CudnnPlan&)>;
std::vector<CudnnPlan> find_plans(const PlanTarget& target, const ConvolutionOperation& operation,
                                  const PlanRules& rules, std::size_t most, const AcceptsPlan& accepts = {},
                                  const std::function<bool()>& is_spent = {});

// Returns the plan of that choice without making any other plan. Returns nothing if no such plan exists, keeps to the
// rules and is accepted.
std::optional<CudnnPlan> find_plan_again(const PlanTarget& target, const ConvolutionOperation& operation,
                                         const PlanRules& rules, const std::string& choice,
                                         const AcceptsPlan& accepts = {});

}  // namespace eave::cuda
