// Runs passes as CUDA graphs. The first pass of a kind is enqueued call by call, the second is recorded, and all later
// ones are replayed. A replay costs the host one launch for each part between two cuts, however many kernels the part
// has.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/cuda/cuda_handles.h"
#include "device/kernel_plan.h"
#include "eave/compute.h"

namespace eave::cuda {

class GraphRecorder {
 public:
  // A recording is valid for one kind of pass on the same images.
  using Key = std::pair<PassKind, const DeviceImages*>;

  explicit GraphRecorder(cudaStream_t stream) : stream_(stream) {}

  void begin(const Key& key);
  // Compute asks this before each call. True: enqueue the call. False: it is part of a graph already.
  bool enqueues();
  void cut();
  void end();
  // Drops all recordings, because memory that they use has moved. Only between passes.
  void forget() noexcept { passes_.clear(); }
  // Call it after an exception in the middle of a pass. The stream accepts calls again, and nothing of the pass is kept
  // for a replay.
  void abandon() noexcept;

 private:
  enum class State { kIdle, kEnqueuing, kRecording, kReplaying };
  struct Recorded {
    std::vector<RecordedGraph> parts;  // an empty part means that no call was made between two cuts
    bool is_known = false;             // enqueued once, so the libraries have loaded what they need
    bool is_whole = false;
  };

  void finish_part();
  void launch_next();

  cudaStream_t stream_;
  std::map<Key, Recorded> passes_;
  Recorded* pass_ = nullptr;
  std::size_t next_ = 0;  // index of the next part to replay
  State state_ = State::kIdle;
  bool is_capturing_ = false;  // true from a part's first call on: calls of others between parts belong to no part
};

// Plans inside passes that are recorded and replayed. A call reaches `plan` only if the pass is not being replayed: in
// a replay, the plan's work is already part of a graph.
template <class Forward>
std::unique_ptr<ForwardPlan<Forward>> make_replayed(GraphRecorder& recorder,
                                                    std::shared_ptr<ForwardPlan<Forward>> plan) {
  const auto forward = [=, &recorder](const Forward& call) {
    if (recorder.enqueues()) plan->forward(call);
  };
  return make_plan_of<Forward>(forward, {plan->saved_size(), plan->scratch_size()});
}
template <class Forward, class Backward>
std::unique_ptr<GradientPlan<Forward, Backward>> make_replayed(GraphRecorder& recorder,
                                                               std::shared_ptr<GradientPlan<Forward, Backward>> plan) {
  const auto forward = [=, &recorder](const Forward& call) {
    if (recorder.enqueues()) plan->forward(call);
  };
  const auto backward = [=, &recorder](const Backward& call) {
    if (recorder.enqueues()) plan->backward(call);
  };
  return make_plan_of<Forward, Backward>(forward, backward, {plan->saved_size(), plan->scratch_size()});
}

}  // namespace eave::cuda
