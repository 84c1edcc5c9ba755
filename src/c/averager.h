// A communicator with what it needs beside a model, for a loop that is not eave's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "c/finite_gate.h"
#include "c/gradient_notes.h"
#include "c/options.h"
#include "eave/communicator.h"
#include "guard/replica_comparison.h"

namespace eave {

// Every method is for the thread of the transport, and collective unless it says otherwise.
class Averager {
 public:
  // `options`: words "name=value" between spaces, the same on all ranks. Throws AgreedError (kUsage, kConfiguration).
  // Parameters and gradients outlive this. They lie in the host's memory, or with "device=cuda" in that of GPU "gpu=N",
  // which may be another number on each rank; one such averager at a time. What has been asked of them is done when a
  // method returns.
  Averager(Transport& transport, const std::string& options, Slice parameters, Slice gradients);
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;
  ~Averager();

  // As eave_look_ahead; not collective.
  void look_ahead(Ahead ahead) { step_.ahead = ahead; }

  void begin_step(std::int64_t samples, std::int64_t samples_everywhere, double learning_rate);
  // Whether the optimizer takes its step. `has_gradient`, of the tensors that parameters consist of, or nothing: this
  // rank's, and then any rank's if gradients are averaged in this step. Throws Error(kDiverged) as FiniteGate does.
  bool before_update(double loss_sum, TensorFlags has_gradient = {});
  // Throws Error(kDiverged) if the optimizer has made parameters that are not finite, and kInternal if replicas differ
  // that the method keeps equal.
  void after_update();
  void write_consensus(Slice into);  // where the parameters lie; throws as after_update
  void finish();                     // throws as after_update

  // Not collective.
  const std::string& description() const { return description_; }
  const CommunicatorTraits& traits() const { return options_.kind->traits; }
  // Whether each rank's steps are the others' steps: ranks that take fewer would be waited for.
  bool needs_equal_steps() const;
  // How long a rank waits for another; nullopt: as before.
  std::optional<std::string> limit() const;
  std::size_t size() const { return replica_.parameters.size(); }
  std::int64_t steps() const { return step_.index; }  // done
  bool is_in_step() const { return stage_ != Stage::kBetweenSteps; }
  std::int64_t steps_left_out() const { return gate_->left_out(); }
  TransportCounters counters() const { return counting_->counters(); }
  double seconds_waiting() const { return communicator_->costs().seconds_waiting; }

 private:
  enum class Stage { kBetweenSteps, kComputing, kUpdating };
  void enter(Stage from, Stage to, const char* call);

  void open_gpu(Slice parameters, Slice gradients);
  void attach_gpu(Transport& transport);
  void make_communicator(const std::vector<std::string>& hosts);
  void refuse_what_is_not_finite();
  void watch_replicas();

  bool is_finite(ConstSlice values) { return replica_.device->all_finite(values)->get(); }
  bool is_compressed() const;
  void weigh_gradients(bool is_finite, bool tells_by_values);
  void judge_gradients(bool is_finite, const std::string& where);
  Hash128 hash_of(ConstSlice values);
  void require_equal_steps();
  ConstSlice consensus();
  void warn_if_untrained(ConstSlice values);

  AveragerOptions options_;
  std::unique_ptr<Device> gpu_;      // nullptr: all is in the host's memory
  std::unique_ptr<Transport> nccl_;  // nullptr: what the session has
  std::unique_ptr<CountingTransport> counting_;
  std::optional<Attachment> attachment_;
  ReplicaView replica_;
  std::unique_ptr<Communicator> communicator_;
  std::optional<FiniteGate> gate_;
  std::optional<GradientNotes> notes_;
  std::optional<ReplicaComparison> replicas_;
  int workers_ = 1;
  Step step_;
  Stage stage_ = Stage::kBetweenSteps;
  bool averages_ = false, is_left_out_ = false;  // in this step
  bool is_gone_on_ = false;                      // since the last consensus
  bool is_judged_ = false;                       // whether the consensus has been trained
  Hash128 first_;                                // of the parameters that all ranks began with
  std::string description_;
};

}  // namespace eave
