// The training loop of one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "eave/communicator.h"
#include "eave/dataset.h"
#include "eave/loader.h"
#include "eave/model.h"
#include "eave/optimizer.h"
#include "eave/recorder.h"
#include "eave/transport.h"

namespace eave {

class FileCalls;    // src/base/file_calls.h
class LeaveGate;    // src/guard/leave_gate.h
class Whereabouts;  // src/guard/whereabouts.h

// Model, optimizer and the arenas of one rank, in the memory of its device.
struct Replica {
  Replica(Model& model, Optimizer& optimizer, std::uint64_t seed, Device& device = cpu_device());
  ReplicaView view();

  Device& device;
  Model& model;
  Optimizer& optimizer;
  std::uint64_t seed;
  Buffer parameters;
  // Between steps: workspace of evaluations. In memory that the transport lends, once training has begun, where there
  // is.
  Buffer gradients;
  Buffer statistics;
  Buffer other_statistics;  // of a model that is evaluated and not trained
};

// With which batch-norm statistics a model is evaluated and saved that is no worker (those have their own).
enum class NormStatistics {
  kLocal,      // rank 0's
  kAverage,    // of the mixture of all workers' data, as far as their running averages tell
  kRecompute,  // measured anew on training batches
};

// One is saved after each evaluation, and between them. A copy is made, and a thread writes it while training goes on.
struct CheckpointPlan {
  std::string directory;  // "": none are saved
  bool is_named = false;  // a person named the directory, so it may be a symbolic link; else a link is refused
  // Ascending, those that do not see what rank 0 has there: it writes and reads their files.
  std::vector<int> blind_ranks = {};
  std::int64_t every_steps = 0;  // 0: not after so many steps
  double every_seconds = 0;      // by rank 0's clock; 0: not after so long
  std::int64_t kept = 3;         // the newest so many stay
  std::int64_t keep_every = 0;   // and those after a multiple of so many steps; 0: none
  bool is_required = false;      // what cannot be written ends the run by AgreedError(kInputOutput), else is told
  std::map<std::string, std::string> notes = {};  // go into the manifest
};

// What becomes of a step whose loss or gradient is not finite. Values that are not finite are written nowhere either
// way (see Device): they reach no other rank's parameters, and no center.
enum class OnNonfinite {
  kSkip,   // it is left out: as if this rank had had no samples; of a gradient, the elements that are not finite
  kAbort,  // the run ends
};

// What becomes of a rank that no longer has the bits that the method keeps equal on all ranks.
enum class OnReplicaFault {
  kStop,    // the run ends
  kRepair,  // it gets those of the majority; without a majority the run ends
};

// A fault of one rank made on purpose, for experiments and tests.
struct InjectedFault {
  enum class Kind { kNone, kNanLoss, kNanGradient, kInfGradient, kFlippedBit };
  Kind kind = Kind::kNone;
  std::int64_t step = 0;     // from 0
  std::int64_t element = 0;  // of the gradient; kFlippedBit: of what is the same on all ranks, or else
                             // of the parameters, after the step; modulo their number
  int bit = 0;               // kFlippedBit: 0 the lowest
};

// Resolved numbers of a run; the same on every rank except slow_factor and fault.
struct TrainingPlan {
  std::int64_t steps = 0;         // of the whole run
  std::int64_t first_step = 0;    // above 0: go on from a checkpoint, after so many steps
  std::int64_t elastic_step = 0;  // above 0: that checkpoint is of another number of ranks, after so many steps
  bool has_other_files = false;   // with elastic_step: samples may be others than those of the checkpoint
  bool has_ended = false;         // the run has ended at the first step already, and is only to end again
  CheckpointPlan checkpoints;
  std::int64_t evaluate_every_steps = 0;  // 0: only at the end
  // The run ends where one of these is reached; 0: never.
  double stop_at_accuracy = 0;        // of the consensus on the test set, 0-1
  double stop_after_seconds = 0;      // of training, on the rank that has taken most
  std::int64_t stop_after_bytes = 0;  // sent by the rank that has sent most
  std::int64_t ask_every_steps = 1;   // after so many, ranks meet to see whether time or bytes are spent
  OnNonfinite on_nonfinite = OnNonfinite::kSkip;
  // kSkip: so many steps of a rank in a row that are not finite are no accident of data: training has diverged.
  std::int64_t nonfinite_limit = 10;
  // By steps that were left out: divergence ends the run on all ranks with the next evaluation or
  // checkpoint, or where TrainingParts::leave is given within some steps, by AgreedError and with nothing in flight, so
  // that they can go on to something else. Without both it ends the run on the rank that has it, at once.
  bool diverges_together = false;
  std::int64_t log_every_steps = 1;
  std::int64_t evaluation_batch = 256;
  bool evaluates_workers = true;       // at each evaluation; else at the run's end
  std::int64_t watch_every_steps = 0;  // the window of the watch for slow ranks; the same on all ranks; 0: no watch
  int records_untold = 1'000'000;      // 100 bytes each: with so many, the ranks meet to tell rank 0 of them
  NormStatistics statistics = NormStatistics::kAverage;
  std::int64_t recompute_batches = 100;  // of all ranks together, for kRecompute
  bool reset_on_drop = false;            // where the schedule steps down, Communicator::reset_to_center before the step
  std::int64_t replica_hash_every = 0;   // steps; 0: never
  OnReplicaFault on_replica_fault = OnReplicaFault::kStop;
  InjectedFault fault;
  double computing_seconds = 0;  // gradients take at least so long, by sleeping: a larger model for experiments
  double slow_factor = 1;        // this rank's computing is stretched by sleeping: a slow rank for experiments
};

// A rank whose steps take much longer to compute than those of the others.
struct Straggler {
  int rank = 0;
  double factor = 1;      // of the median of the others
  std::int64_t step = 0;  // that rank 0 had done when it learnt of it
};

// A step of this rank that was left out, in whole or in part.
struct NonfiniteStep {
  std::int64_t step = 0;    // from 1
  bool is_of_loss = false;  // else the loss was finite and the gradient was not
};

// Where a trainer tells what happens; each may be left empty.
struct TrainingEvents {
  // How far this rank is, at the end of a step, every 0.2 s or less often, whatever log_every_steps: the fields up to
  // `seconds`; the loss is the mean since the last glance.
  std::function<void(const StepRecord&)> glance;
  std::function<void(const StepRecord&)> step;              // this rank's record, each log_every_steps
  std::function<void(const EvaluationRecord&)> evaluation;  // on all ranks
  // On rank 0 alone: the records of one rank since the last time, in their order. Rank 0's own within a second, and
  // when training fails; those of the others before each evaluation, and when there are records_untold of them.
  std::function<void(int rank, const std::vector<StepRecord>&)> records;
  // On rank 0 alone, once for each: within 50 of the slow rank's steps where all exchanges are among all ranks, at
  // an evaluation elsewhere.
  std::function<void(const Straggler&)> straggler;
  // On rank 0 alone: a checkpoint that could not be written, replicas that were repaired.
  std::function<void(const std::string&)> warning;
  // On rank 0 alone, by another thread, before a checkpoint is committed: what was told so far is on the disk when it
  // returns, so that no checkpoint is ahead of it. Returns why it is not; "": it is.
  std::function<std::string()> flush;
  std::function<void(const NonfiniteStep&)> nonfinite;  // this rank's first
};

// Everything a trainer works with; all outlive it.
struct TrainingParts {
  Replica& replica;
  Communicator& communicator;
  CommunicatorTraits traits;
  Transport& transport;
  const CountingTransport& counting;
  const Schedule& schedule;
  const DataSplit& data;
  Sampler& sampler;  // ranks from sampler.ranks() on only serve: they keep a center and take part in evaluations
  Augmentation augmentation;
  TraceBuffer* trace = nullptr;        // keeps what the calling thread does, and when
  Whereabouts* whereabouts = nullptr;  // told of where the calling thread is
  LeaveGate* leave = nullptr;  // on all ranks or none; where it closes, all save and leave: AgreedError(kLeftOnRequest)
  FileCalls* files = nullptr;  // by which checkpoints are written; nullptr: the system's
};

// What the next StepRecord will tell of steps that are done already.
struct UnrecordedSteps {
  double loss_sum = 0;
  std::int64_t samples = 0;  // of this rank
  double seconds = 0, loading = 0, waiting = 0, exchanging = 0;
  std::int64_t bytes = 0;
  std::int64_t nonfinite = 0;
};

// How far a run has come since its beginning, over all resumptions.
struct TrainingProgress {
  std::int64_t steps = 0;
  std::int64_t samples = 0;             // seen by all ranks
  double seconds = 0;                   // this rank's training time, evaluations left out
  double waiting = 0;                   // this rank's seconds blocked on others while training
  std::int64_t bytes = 0;               // sent by this rank while training
  std::int64_t nonfinite = 0;           // steps of this rank that were left out, in whole or in part
  std::int64_t nonfinite_in_a_row = 0;  // of those, the last ones, without a whole step between or behind them
  std::int64_t repaired = 0;            // times that replicas were repaired; the same on all ranks
  UnrecordedSteps unrecorded = {};
};

struct TrainingResult {
  TrainingProgress progress;
  EvaluationRecord evaluation;        // the last one, of what the run ended with
  std::int64_t checkpoints = 0;       // that were saved
  std::int64_t lost_checkpoints = 0;  // that could not be written
  double checkpoint_seconds = 0;      // for which they kept this rank from training
};

// Collective: runs the plan's steps, or as many as it takes until an evaluation stops it, and evaluates at the end. A
// plan that has ended, or whose first step is behind its last, ends what a checkpoint of the end has left, and
// evaluates.
// Throws Error(kDiverged) when this rank's loss is not finite (kSkip: nonfinite_limit times in a row; see
// diverges_together), AgreedError(kDiverged) when what all ranks share is not: the test loss of the consensus, and with
// kAbort averaged gradients. Throws AgreedError(kInternal) where ranks no longer have the same bits (OnReplicaFault).
TrainingResult train(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);

// Collective: the four models on the whole test set, or with TrainingPlan::evaluates_workers off, and unless the run
// ends here (is_last, or its accuracy is reached), the consensus alone. Overwrites replica.gradients, nothing else.
EvaluationRecord evaluate(const TrainingParts& parts, const TrainingPlan& plan, bool is_last);

// Collective: the batch-norm statistics for `parameters`, which are the same on all ranks. Empty where the model has no
// batch norm. Changes nothing of the replica. kRecompute: forward passes without dropout over the first batches of the
// first epoch, as one rank would see them with this run's batch and augmentation, cut into parts for the ranks; each
// batch is normalised by its own mean and variance, as in training. The result is the mean and the unbiased variance of
// all their samples (divided by N - 1, as running averages have it), and the same for every number of ranks but for
// rounding. At most one pass over the training set.
std::vector<float> statistics_for(const TrainingParts& parts, const TrainingPlan& plan, ConstSlice parameters);
// Collective: those for the communicator's consensus; where that is rank 0's worker, its own instead of an average.
std::vector<float> statistics_for_consensus(const TrainingParts& parts, const TrainingPlan& plan);

// Collective: batch-norm statistics of the mixture of all ranks' data: mean = E[mean_i], var = E[var_i] + Var[mean_i].
// `mine` is in the host's memory; `weight`: of this rank's in the mixture.
std::vector<float> average_statistics(const Model& model, Transport& transport, ConstSlice mine, double weight = 1);

}  // namespace eave
