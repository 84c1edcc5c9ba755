// The training loop of one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "eave/checkpoint.h"
#include "eave/communicator.h"
#include "eave/dataset.h"
#include "eave/decorators.h"
#include "eave/loader.h"
#include "eave/model.h"
#include "eave/optimizer.h"
#include "eave/recorder.h"
#include "eave/transport.h"

namespace eave {

class FileCalls;         // src/base/files/output_file.h
class LeaveGate;         // src/guard/leave.h
class ConsensusAverage;  // src/train/loop/consensus_average.h
class RankProgress;      // src/guard/rank_progress.h

// The model, the optimizer and the arenas of one rank. The arenas lie in the memory of its device.
struct Replica {
  Replica(Model& model, Optimizer& optimizer, std::uint64_t seed, Device& device = cpu_device());
  ReplicaView view();

  Device& device;
  Model& model;
  Optimizer& optimizer;
  std::uint64_t seed;
  Buffer parameters;
  // Evaluations use it as workspace between steps. When training begins, it moves to memory that the transport lends,
  // if there is any (Transport::lend).
  Buffer gradients;
  Buffer statistics;
  Buffer other_statistics;  // statistics of a model that is evaluated but not trained
};

// The batch-norm statistics with which the consensus and other averaged models are evaluated and saved. A worker's
// replica always uses its own.
enum class NormStatistics {
  kLocal,      // those of rank 0
  kAverage,    // of the mixture of all workers' data, computed from their running averages
  kRecompute,  // measured anew on training batches
};

// How training handles a step whose loss or gradient is not finite. In both cases non-finite values are never written
// (see Device): they reach no other rank's parameters, and no center.
enum class OnNonfinite {
  kSkip,   // If the loss is not finite, this rank leaves the step out. If the method averages gradients, all ranks do.
           // If only the gradient is not finite, its non-finite elements are left out.
  kAbort,  // The run ends.
};

// How training handles a rank whose bits differ although the method keeps them equal on all ranks.
enum class OnReplicaFault {
  kStop,    // the run ends
  kRepair,  // the rank gets the bits of the majority; if there is no majority, the run ends
};

// A deliberate fault of one rank, for experiments and tests.
struct InjectedFault {
  enum class Kind { kNone, kNanLoss, kNanGradient, kInfGradient, kFlippedBit };
  Kind kind = Kind::kNone;
  std::int64_t step = 0;  // counted from 0
  // Index of the affected element, modulo the number of elements. It is an element of the gradient. With kFlippedBit it
  // is, after the step, an element of the first vector that is equal on all ranks, or of the parameters if none is.
  std::int64_t element = 0;
  int bit = 0;  // for kFlippedBit; 0 is the lowest bit
};

// The resolved numbers of a run. They are equal on all ranks, except slow_factor and fault.
struct TrainingPlan {
  std::int64_t steps = 0;       // steps of the whole run
  std::int64_t first_step = 0;  // if above 0: resume from a checkpoint after this many steps
  // If above 0, the run is resumed from the checkpoint after this many steps of another number of ranks, or of other
  // files (--resume elastic). first_step then is the step of this run after as many samples.
  std::int64_t elastic_step = 0;
  bool has_other_files = false;  // with elastic_step: the samples may differ from those of the checkpoint
  bool has_ended = false;        // the run had already ended at first_step: only repeat what it does at its end
  CheckpointPlan checkpoints;
  bool can_resume = true;                 // false: a run that leaves on request has to begin anew
  std::int64_t evaluate_every_steps = 0;  // 0 = only at the end
  // If above 0: as many evaluations as this, spread evenly over the run: over its time or bytes if these limit it, else
  // over its steps. The last is the one at the end.
  std::int64_t evaluations = 0;
  // The run ends when one of these limits is reached; 0 = no limit.
  double stop_at_accuracy = 0;        // accuracy of the consensus on the test set, 0-1
  double stop_at_loss = 0;            // its loss on the test set, or less
  double stop_after_seconds = 0;      // training time of the rank with the longest
  std::int64_t stop_after_bytes = 0;  // bytes sent by the rank that has sent most
  std::int64_t ask_every_steps = 1;   // steps between two collectives that check the limits of time and bytes
  // Above 0: a gradient whose Euclidean norm over all parameters is larger is scaled to this norm. It is the gradient
  // that the update uses: averaged if the method averages gradients, otherwise that of this rank. A step whose norm is
  // not finite is left out as a whole.
  double clip_norm = 0;
  // Forward and backward passes of a step. Each takes an equal part of the rank's batch, in order, and the gradients
  // are added up with the parts' shares as weights.
  int passes = 1;
  OnNonfinite on_nonfinite = OnNonfinite::kSkip;
  // With kSkip: if this many steps of a rank in a row are not finite, training has diverged.
  std::int64_t nonfinite_limit = 10;
  // How a run ends that has diverged by steps left out. True: all ranks throw AgreedError at the next evaluation or
  // checkpoint, with nothing in flight, so they can start something else. If TrainingParts::leave is given, they do so
  // within some steps, whatever this value. Otherwise the rank that has diverged throws at once, alone.
  bool diverges_together = false;
  std::int64_t log_every_steps = 1;
  std::int64_t evaluation_batch = 256;  // samples at a time; the program's --evaluation-batch is 128
  bool evaluates_workers = true;        // evaluate workers at each evaluation; false = only at the end of the run
  std::int64_t watch_every_steps = 0;   // window of the watch for slow ranks, equal on all ranks; 0 = no watch
  int records_untold = 1'000'000;  // after this many records (100 bytes each) all ranks meet to send them to rank 0
  NormStatistics statistics = NormStatistics::kAverage;
  std::int64_t recompute_batches = 100;  // for kRecompute: number of batches, of all ranks together
  bool reset_on_drop = false;            // call Communicator::reset_to_center before a step whose learning rate drops
  std::int64_t replica_hash_every = 0;   // steps between comparisons of the replicas; 0 = never
  std::string plugin;  // "communicator 'NAME' (plug-in FILE)" if a plug-in brings the method; messages name it
  OnReplicaFault on_replica_fault = OnReplicaFault::kStop;
  InjectedFault fault;
  // For experiments, by sleeping:
  double computing_seconds = 0;  // gradients take at least this long, as with a larger model
  double slow_factor = 1;        // computing takes this many times as long, as on a slow rank
};

// A rank whose steps take much longer to compute than those of other ranks.
struct Straggler {
  int rank = 0;
  double factor = 1;      // its computing time / the median of the other ranks
  std::int64_t step = 0;  // steps that rank 0 had done when it learnt of the straggler
};

// A step of this rank that was left out, in whole or in part.
struct NonfiniteStep {
  std::int64_t step = 0;    // counted from 1
  bool is_of_loss = false;  // true: the loss was not finite; false: only the gradient was not finite
};

// Callbacks by which a trainer reports. Each may be empty.
struct TrainingEvents {
  // The progress of this rank, at the end of a step, at most every 0.2 s, independent of log_every_steps. Only the
  // fields up to `seconds` are set; the loss is the mean since the last call.
  std::function<void(const StepRecord&)> glance;
  std::function<void(const StepRecord&)> step;              // this rank's record, every log_every_steps
  std::function<void(const EvaluationRecord&)> evaluation;  // on all ranks
  // On rank 0 only: the new records of one rank, in order. Rank 0's own records come within a second, and when training
  // fails. Those of another rank come before each evaluation, and when there are records_untold of them.
  std::function<void(int rank, const std::vector<StepRecord>&)> records;
  // On rank 0 only, once per straggler: a rank that computed 3 times as long as the others for 40 steps and 0.25 s, or
  // 1.5 times as long for 30 steps and 1 s. If all exchanges include all ranks, it comes soon after these steps;
  // otherwise at an evaluation.
  std::function<void(const Straggler&)> straggler;
  // On rank 0 only: a checkpoint could not be written, or replicas were repaired.
  std::function<void(const std::string&)> warning;
  // Called on rank 0 only, at three points: before any rank writes its part of a checkpoint, before the checkpoint is
  // committed (from another thread), and before the files of one that failed are removed. Throws Error if the directory
  // is not the run's any more. The checkpoint then fails, and nothing is removed.
  std::function<void()> require_directory;
  // On rank 0 only, from another thread, before a checkpoint is committed. It must write everything reported so far to
  // the disk, so that no checkpoint is ahead of the records. Returns "", or why it could not.
  std::function<std::string()> flush;
  std::function<void(const NonfiniteStep&)> nonfinite;  // this rank's first such step
};

// Everything that a trainer works with. All of it must outlive the trainer.
struct TrainingParts {
  Replica& replica;
  Communicator& communicator;
  CommunicatorTraits traits;
  Transport& transport;
  const CountingTransport& counting;
  const Schedule& schedule;
  const DataSplit& data;
  Sampler& sampler;  // ranks from sampler.ranks() on do not train: they keep a center and take part in evaluations
  Augmentation augmentation;
  TraceBuffer* trace = nullptr;           // gets the times of what the calling thread does
  RankProgress* rank_progress = nullptr;  // gets the current section of the calling thread
  // Given on all ranks or none. When it closes, all ranks save a checkpoint and throw AgreedError(kLeftOnRequest).
  LeaveGate* leave = nullptr;
  // Given on all ranks or none: follows the consensus. Evaluations score it, and checkpoints keep it.
  ConsensusAverage* average = nullptr;
  FileCalls* files = nullptr;  // the calls that write checkpoints; nullptr = those of the operating system
};

struct TrainingResult {
  TrainingProgress progress;
  EvaluationRecord evaluation;        // the last evaluation, of the final model
  std::int64_t checkpoints = 0;       // number of checkpoints saved
  std::int64_t lost_checkpoints = 0;  // number of checkpoints that could not be written
  double checkpoint_seconds = 0;      // seconds for which checkpoints kept this rank from training
};

// Collective. Runs the plan's steps, or fewer if a limit of the plan is reached, and evaluates at the end. If
// plan.has_ended, or first_step equals `steps`, it takes no step: it finishes what the last checkpoint left undone, and
// evaluates. Throws
//     Error(kDiverged)         if this rank's loss is not finite; with kSkip only after nonfinite_limit such steps in a
//                              row (see diverges_together)
//     AgreedError(kDiverged)   if a value shared by all ranks is not finite: the test loss of the consensus, or with
//                              kAbort an averaged gradient
//     AgreedError(kInternal)   if ranks no longer have the same bits (OnReplicaFault)
TrainingResult train(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);

// The metric of runs on this data: perplexity for text, else accuracy.
Metric metric_of(const DataSplit& data);
// Perplexity of a language model: exp(loss), where `loss` is the mean cross-entropy in nats per token. At most 1e38,
// and 1e38 if the loss is not finite, so that files can hold it.
double perplexity_of(double loss);

// Collective. Evaluates the four models on the whole test set. If TrainingPlan::evaluates_workers is off, it evaluates
// only the consensus, unless the run ends here (`is_last`, or stop_at_accuracy or stop_at_loss is reached). Overwrites
// replica.gradients and nothing else.
EvaluationRecord evaluate(const TrainingParts& parts, const TrainingPlan& plan, bool is_last);

// Collective. Returns the batch-norm statistics for `parameters`, which must be equal on all ranks. Empty if the model
// has no batch norm. Changes nothing in the replica.
// kRecompute runs forward passes without dropout over the first batches of the first epoch. The batches are those that
// one rank would see with this run's batch size and augmentation; they are divided among the ranks. Each batch is
// normalised by its own mean and variance, as in training. The result is the mean and the unbiased variance (divisor
// N - 1, as in running averages) of all these samples. Up to rounding it does not depend on the number of ranks. Costs
// at most one pass over the training set.
std::vector<float> statistics_for(const TrainingParts& parts, const TrainingPlan& plan, ConstSlice parameters);
// Collective. The statistics for the communicator's consensus. If that is rank 0's replica, rank 0's own are returned
// instead of an average.
std::vector<float> statistics_for_consensus(const TrainingParts& parts, const TrainingPlan& plan);

// Collective. Batch-norm statistics of the mixture of all ranks' data: mean = E[mean_i], var = E[var_i] + Var[mean_i].
// `mine` is in host memory; `weight` is this rank's weight in the mixture.
std::vector<float> average_statistics(const Model& model, Transport& transport, ConstSlice mine, double weight = 1);

}  // namespace eave
