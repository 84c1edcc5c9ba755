// Plans of cuDNN: which of its engines fit an operation, a device and a precision. Planning runs nothing on a device,
// and needs none: a description of a device will do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/cudnn_operation.h"
#include "device/cuda/plans.h"

namespace eave::cuda {

// What plans are made for.
class PlanTarget {
 public:
  explicit PlanTarget(cudnnHandle_t handle) : handle_(handle) {}  // the device of the handle
  // JSON as cuDNN writes it of a device (describe_device). Such plans cannot be run. cuDNN 9.8 or later.
  explicit PlanTarget(const std::string& description);

  cudnnHandle_t handle() const { return handle_; }
  void name_in_heuristic(Descriptor& heuristic) const;
  void name_in_engine(Descriptor& engine) const;
  void name_in_plan(Descriptor& plan) const;

 private:
  cudnnHandle_t handle_ = nullptr;
  std::optional<Descriptor> properties_;
};

// The JSON of the handle's device.
std::string describe_device(cudnnHandle_t handle);

// What an engine must and must not do.
struct PlanRules {
  bool tensor_cores = true;
  bool transforms = true;  // Winograd's and Fourier's, which round more than sums of products do
  bool deterministic = false;
  std::int64_t most_workspace_bytes = std::int64_t{256} << 20;
};
PlanRules rules_of(Precision precision, bool deterministic);

struct NamedAddress {
  std::int64_t name;  // TensorName
  const void* address;
};

// One way to run an operation. Owns all that it was made from.
class CudnnPlan {
 public:
  // `made_from` ends with the plan's engine configuration.
  // `offer`: see choice().
  CudnnPlan(std::shared_ptr<const OperationGraph> graph, std::vector<Descriptor>&& made_from, Descriptor&& plan,
            const std::string& offer);

  const ConvolutionOperation& operation() const { return graph_->operation(); }
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  bool uses_tensor_cores() const { return tensor_cores_; }
  bool is_deterministic() const { return deterministic_; }
  bool is_compiled_at_run_time() const { return compiled_; }
  // What find_plan_again finds it by, with the same cuDNN on the same kind of device: "A 3, engine 12, 2048 bytes", the
  // fourth offer of heuristic A.
  const std::string& choice() const { return choice_; }
  // Enqueues on the handle's stream. The workspace is aligned to 256 bytes.
  void run(cudnnHandle_t handle, std::span<const NamedAddress> tensors, void* workspace) const;

 private:
  std::shared_ptr<const OperationGraph> graph_;
  std::vector<Descriptor> made_from_;
  Descriptor plan_;
  std::string choice_;
  std::int64_t workspace_bytes_ = 0;
  bool tensor_cores_ = false, deterministic_ = true, compiled_ = false;
};

// The first `most` plans, the best of cuDNN's heuristics first, that keep to the rules. At least one: throws
// Error(kResource), which says what was wanted and what the engines answered, where there is none. `accepts` may refuse
// plans, each of which costs a trial: after eight the search ends, and none is returned if none was accepted. Once
// there is a plan, `is_spent` ends the search too: some plans are compiled when they are made, which takes long.
using AcceptsPlan = std::function<bool(const CudnnPlan&)>;
std::vector<CudnnPlan> find_plans(const PlanTarget& target, const ConvolutionOperation& operation,
                                  const PlanRules& rules, std::size_t most, const AcceptsPlan& accepts = {},
                                  const std::function<bool()>& is_spent = {});

// The plan of that choice, without making any other; nothing if there is none that keeps to the rules and is accepted.
std::optional<CudnnPlan> find_plan_again(const PlanTarget& target, const ConvolutionOperation& operation,
                                         const PlanRules& rules, const std::string& choice,
                                         const AcceptsPlan& accepts = {});

}  // namespace eave::cuda
