// A communicator with all that it needs beside a model, for a training loop that is not eave's.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "c/averager_options.h"
#include "c/finite_gate.h"
#include "c/gpu_link.h"
#include "c/sample_count.h"
#include "c/shared_service.h"
#include "c/state/averager_state.h"
#include "c/state/save_lock.h"
#include "c/step_observer.h"
#include "communicator/support/plugin_checks.h"
#include "eave/communicator.h"
#include "eave/decorators.h"
#include "eave/update_steps.h"
#include "guard/replica_comparison.h"

namespace eave {

// Gradients in host memory that do not lie in the averager's vector: a pointer per tensor, in the order of the vector,
// nullptr for a tensor without a gradient; and how many values each has.
struct GradientParts {
  std::span<const float* const> values = {};
  std::span<const std::size_t> counts = {};
};

// The transport's thread calls every method. Methods are collective unless they say otherwise.
class Averager {
 public:
  // `options`: words "name=value" with spaces between them, the same on all ranks. Throws AgreedError (kUsage,
  // kConfiguration). Parameters and gradients are not owned and outlive this. They lie in host memory, or with
  // "device=cuda" in the memory of GPU "gpu=N". N may differ between ranks; only one such averager may exist at a time.
  // When a method returns, the work on them is done.
  Averager(Transport& transport, const std::string& options, Slice parameters, Slice gradients,
           const AveragerJob& job = {});
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;
  ~Averager();

  // As eave_look_ahead. Not collective.
  void look_ahead(Ahead ahead);

  void begin_step(std::int64_t samples, std::int64_t samples_everywhere, double learning_rate);
  // As eave_change_rate. Not collective.
  void change_rate(double learning_rate);
  // As eave_gradient_ready. Not collective.
  void gradient_ready(std::size_t first, std::size_t count);
  // As eave_gradients_ready. Not collective.
  void gradients_ready(const GradientParts& parts, std::size_t first);
  // As eave_begin_joined_step: returns whether a step has begun. `leaves`: whether this rank was asked to leave. On a
  // rank without samples it goes out as whether any rank was.
  bool begin_joined_step(std::int64_t samples, std::span<double> numbers, bool& leaves);
  // Returns whether the optimizer is to take its step. `has_gradient`: a flag for each tensor of the parameters, or
  // empty. It comes in for this rank. If gradients are averaged in this step, it goes out with the flags of any rank.
  // `parts`: where the gradients lie; empty: in the vector. Throws Error(kDiverged) as FiniteGate does.
  bool before_update(double loss_sum, TensorFlags has_gradient = {}, const GradientParts& parts = {});
  // Throws AgreedError(kUsage) before an exchange that the samples of the ranks weigh, if they do not add up. Throws
  // kInternal if replicas differ that the method keeps equal. Throws Error(kDiverged) if the optimizer has made
  // parameters that are not finite, and the method exchanges them in this step, or it is a hundredth step. Otherwise
  // the next function that uses the parameters throws it, and before_update if the gradient or loss is not finite.
  void after_update();
  // `into` lies in the same memory as the parameters. Throws as after_update does.
  void write_consensus(Slice into);
  // Between a consensus and the next step. Writes the mean of all ranks' parameters. `into` lies in the same memory as
  // the parameters.
  void write_mean(Slice into);
  void finish();  // throws as after_update does

  // Saving, as in eave.h (eave_state and the functions after it). `caller`: bytes that the caller keeps with the state.
  std::string state(std::string_view caller);
  void save(const std::filesystem::path& directory, std::string_view caller, std::int64_t kept);
  // A state that has been restored. `former`: as in eave_restore. `caller`: the bytes kept with it.
  struct Restored {
    int former = 0;
    std::string caller;
  };
  Restored restore(const std::vector<std::string_view>& states);
  std::optional<Restored> load(const std::filesystem::path& directory);  // nullopt: there is no checkpoint
  // The state that a job goes on from: the progress that this rank saved (a new rank: rank 0), the number of ranks that
  // saved, and the directory of the checkpoint, which is empty if the state came as bytes.
  struct Former {
    TrainingProgress progress;
    int ranks = 0;
    FixedPlace directory = {};
    std::optional<ObservedSteps> observed = {};  // nullopt: nobody observed the steps
  };
  // nullopt: nothing has been restored.
  const std::optional<Former>& former() const { return former_; }

  // Not collective.
  const std::string& description() const { return description_; }
  const CommunicatorTraits& traits() const { return options_.kind->traits; }
  // Whether begin_joined_step meets the other ranks. If ranks take steps independently, a rank without samples still
  // goes through one step before the next consensus or save: in its first step a method may meet all ranks, and the
  // consensus is collective only if the parameters have moved. That step counts as none.
  bool is_collective_with(std::int64_t samples) const { return joins_each_step() || (samples == 0 && has_stepped_); }
  bool wants_loss() const { return communicator_->wants_loss(); }
  // Whether all ranks must take the same number of steps, because a rank that takes fewer would keep others waiting.
  bool needs_equal_steps() const;
  // Set before this rank's first step if ranks take steps independently: the number of this averager, the same on all
  // ranks. All ranks begin to answer requests when one of them takes its first step, and some may never take one. So
  // that step, and each call of the session before it, is a meeting.
  std::optional<std::int64_t> awaited() const;
  // The meeting of a rank that takes no step now. If another rank takes the first step of one of these averagers, so
  // does this rank, with weight 0; such a step counts as none. Returns whether that was so.
  static bool meet_first_step(Transport& transport, const std::vector<Averager*>& averagers);
  // The option limit-step: how long a rank waits for another. nullopt: unchanged.
  std::optional<std::string> limit() const;
  std::size_t size() const { return replica_.parameters.size(); }
  bool is_on_gpu() const { return gpu_ != nullptr; }
  // How often gradients were exchanged in this step: 2 if a rank has changed them in between.
  int gradient_exchanges() const { return gradient_exchanges_; }
  std::int64_t steps() const { return step_.index; }  // steps done
  std::int64_t steps_left_out() const { return gate_->left_out(); }
  std::int64_t repaired() const { return replicas_->repaired(); }  // times that replicas were, in this job
  TransportCounters counters() const { return counting_->counters(); }
  double seconds_waiting() const { return communicator_->costs().seconds_waiting + shares_.seconds_waiting(); }
  // Between a consensus and the next step.
  ExchangeReport exchanges() const { return communicator_->report(); }
  int ranks() const { return workers_; }
  std::string device_name() const { return replica_.device->name(); }
  // The options that somebody gave, with the hash of the method's plug-in, and the method's options that nobody gave:
  // names and texts.
  std::vector<std::pair<std::string, std::string>> given_settings() const;
  std::vector<std::pair<std::string, std::string>> default_settings() const { return options_.defaults_of_method(); }

  // The observer is not owned, and there is one at a time; nullptr: none. It is told when this object ends.
  void observe(StepObserver* observer) { observer_ = observer; }
  bool is_observed() const { return observer_ != nullptr; }
  bool is_observed_by(const StepObserver* observer) const { return observer_ == observer; }

 private:
  enum class Stage { kBetweenSteps, kComputing, kUpdating, kOnlyToBeClosed };
  void enter(Stage from, Stage to, const char* call);
  void begin(const Step& step, CountedSamples counted);
  void begin_alone(std::int64_t samples, double learning_rate);
  void tell_first_step();
  bool joins_each_step() const;
  std::string plugin_name() const { return options_.plugin ? name_of(*options_.plugin) : ""; }
  bool has_other_end() const;
  bool weighs_parameters() const;
  void require_shares(const std::function<void()>& check);
  void check_shares();
  void refuse_step(std::int64_t samples, std::int64_t samples_everywhere, double learning_rate) const;

  void open_gpu(Slice parameters, Slice gradients);
  void attach_gpu(Transport& transport, const AveragerJob& job);
  void make_communicator(const std::vector<std::string>& hosts, std::int64_t first_step = 0);
  void refuse_what_is_not_finite();
  void check_last_update(bool on_all_ranks);
  void watch_replicas();

  bool is_finite(ConstSlice values) { return replica_.device->all_finite(values)->get(); }
  bool is_compressed() const;
  // The outcome of an exchange of gradients. `is_small`: their sum over all ranks is finite for certain.
  struct Told {
    bool is_whole = true, is_small = false, any_changed = false;
    std::string where;  // as in AllGradients
  };
  bool averages_gradients() const;
  Told average(double loss_sum, TensorFlags has_gradient, const GradientParts& parts, bool changed);
  static void refuse_mixture(bool is_mixed);
  void pass_on(Slice part, std::int32_t largest);
  void require_whole(const GradientParts& parts) const;
  static std::uint64_t fingerprint(const GradientParts& parts, std::size_t tensor);
  static bool are_finite(const GradientParts& parts);
  bool have_changed(const GradientParts& parts) const;
  bool uses_vector(const GradientParts& parts) const;
  std::int32_t take_over(const GradientParts& parts, std::size_t first, std::size_t begin);
  std::int32_t take_rest(const GradientParts& parts, bool is_seen_later);
  bool is_large(std::int32_t largest) const;
  void weigh_gradients(Slice part, bool is_finite, bool tells_by_values);
  void judge_gradients(bool is_finite, const std::string& where);
  Hash128 hash_of(ConstSlice values);
  void require_equal_steps();
  ConstSlice consensus(bool is_shown);
  void warn_if_untrained(ConstSlice values);
  bool is_end_to_be_judged();
  void warn_of_few_exchanges() const;

  void meet_to_save();
  StateToSave take_state(std::string_view caller);
  void refuse_after_steps(const char* call);
  void refuse_other_job(const SavedStates& saved) const;
  std::map<std::string, std::string> identity() const;
  std::vector<float> counts() const;
  void set_counts(Slice counts, std::int64_t step);
  Restored restore_saved(const SavedStates& saved);
  TrainingProgress progress_after(const SavedStates& saved, const SavedRank& state) const;
  std::optional<ObservedSteps> observed_after(const SavedStates& saved) const;
  Joining restore_elastic(const SavedStates& saved);
  void restore_own(const SavedStates& saved);
  void require_saved_consensus(const SavedRank& saved);
  void begin_again(std::int64_t step);
  std::vector<float> on_host(ConstSlice values);
  double distance_from(ConstSlice center);

  AveragerOptions options_;
  std::unique_ptr<Device> gpu_;                // nullptr: all values are in host memory
  std::unique_ptr<Transport> nccl_;            // nullptr: uses the session's transport
  std::unique_ptr<ServingTransport> serving_;  // nullptr: the method sends no requests
  std::unique_ptr<Transport> borrowing_;       // nullptr: nobody keeps lent arrays for the next averager
  std::unique_ptr<CountingTransport> counting_;
  std::optional<Attachment> attachment_;
  ReplicaView replica_;
  std::unique_ptr<Communicator> communicator_;
  std::optional<FiniteGate> gate_;
  std::optional<GradientFlags> flags_;
  std::optional<SampleCount> sample_count_;
  SampleShares shares_;  // in the steps whose parameters are averaged later
  std::optional<ReplicaComparison> replicas_;
  int workers_ = 1;
  Step step_;
  StepObserver* observer_ = nullptr;
  Stage stage_ = Stage::kBetweenSteps;
  std::size_t ready_ = 0;           // in this step the gradients from here on have been handed over
  std::int32_t largest_ready_ = 0;  // the largest magnitude of these gradients, as bits of a float
  static constexpr std::size_t kNoTensor = static_cast<std::size_t>(-1);
  std::size_t first_ready_ = kNoTensor;      // gradients_ready has handed over the tensors from here on
  std::vector<std::uint64_t> fingerprints_;  // of these tensors
  int gradient_exchanges_ = 0;
  bool averages_ = false, is_left_out_ = false;  // in this step
  bool is_counted_ = true;                       // false: a rank without samples goes through this step, see above
  std::int64_t unchecked_step_ = 0;              // its update may have made parameters that are not finite; 0: none
  bool has_begun_ = false;                       // a step
  bool is_gone_on_ = false;                      // has begun a step since the last consensus
  bool has_stepped_ = false;                     // likewise, or since the state was taken
  bool is_judged_ = false;                       // a consensus has differed from the start
  bool is_told_untrained_ = false;               // a warning has said that the consensus has not
  Hash128 first_;                                // hash of the parameters that all ranks began with
  std::optional<Former> former_;
  std::string description_;
  SaveLock save_lock_;  // of rank 0
};

}  // namespace eave
