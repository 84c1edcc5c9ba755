// The training loop of one rank.
#pragma once

#include <cstdint>
#include <functional>
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

// Model, optimizer and the arenas of one rank, in the memory of its device.
struct Replica {
  Replica(Model& model, Optimizer& optimizer, std::uint64_t seed, Device& device = cpu_device());
  ReplicaView view();

  Device& device;
  Model& model;
  Optimizer& optimizer;
  std::uint64_t seed;
  Buffer parameters;
  Buffer gradients;  // between steps: workspace of evaluations
  Buffer statistics;
  Buffer other_statistics;  // of a model that is evaluated and not trained
};

// With which batch-norm statistics a model is evaluated and saved that is no worker (those have their own).
enum class NormStatistics {
  kLocal,      // rank 0's
  kAverage,    // of the mixture of all workers' data, as far as their running averages tell
  kRecompute,  // measured anew on training batches
};

// Resolved numbers of a run; the same on every rank except slow_factor.
struct TrainingPlan {
  std::int64_t steps = 0;                 // of the whole run
  std::int64_t first_step = 0;            // above 0: go on from the checkpoint that was saved after so many steps
  std::string checkpoint_directory;       // "": no checkpoints; else one is saved after each evaluation
  std::int64_t evaluate_every_steps = 0;  // 0: only at the end
  // The run ends where one of these is reached; 0: never.
  double stop_at_accuracy = 0;        // of the consensus on the test set, 0-1
  double stop_after_seconds = 0;      // of training, on the rank that has taken most
  std::int64_t stop_after_bytes = 0;  // sent by the rank that has sent most
  std::int64_t ask_every_steps = 1;   // after so many, ranks meet to see whether time or bytes are spent
  // A loss that is not finite ends the run on the rank that has it, at once, or else on all with the next evaluation,
  // by AgreedError and with nothing in flight: so that they can go on to something else.
  bool diverges_together = false;
  std::int64_t log_every_steps = 1;
  std::int64_t evaluation_batch = 256;
  std::int64_t watch_every_steps = 0;  // the window of the watch for slow ranks; the same on all ranks; 0: no watch
  int records_untold = 1'000'000;      // 100 bytes each: with so many, the ranks meet to tell rank 0 of them
  NormStatistics statistics = NormStatistics::kAverage;
  std::int64_t recompute_batches = 100;  // of all ranks together, for kRecompute
  bool reset_on_drop = false;            // where the schedule steps down, Communicator::reset_to_center before the step
  double slow_factor = 1;                // this rank's computing is stretched by sleeping: a slow rank for experiments
};

// A rank whose steps take much longer to compute than those of the others.
struct Straggler {
  int rank = 0;
  double factor = 1;      // of the median of the others
  std::int64_t step = 0;  // that rank 0 had done when it learnt of it
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
  TraceBuffer* trace = nullptr;  // keeps what the calling thread does, and when
};

// How far a run has come since its beginning, over all resumptions.
struct TrainingProgress {
  std::int64_t steps = 0;
  std::int64_t samples = 0;  // seen by all ranks
  double seconds = 0;        // this rank's training time, evaluations left out
  double waiting = 0;        // this rank's seconds blocked on others while training
  std::int64_t bytes = 0;    // sent by this rank while training
};

struct TrainingResult {
  TrainingProgress progress;
  EvaluationRecord evaluation;  // the last one, of what the run ended with
};

// Collective: runs the plan's steps, or as many as it takes until an evaluation stops it, and evaluates at the end.
// Throws Error(kDiverged) when this rank's loss is not finite (see diverges_together), AgreedError(kDiverged) when what
// all ranks share is not: averaged gradients, the test loss of the consensus.
TrainingResult train(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events);

// Collective: the four models on the whole test set. Overwrites replica.gradients, nothing else.
EvaluationRecord evaluate(const TrainingParts& parts, const TrainingPlan& plan);

// Collective: the batch-norm statistics for `parameters`, which are the same on all ranks. Empty where the model has no
// batch norm. Changes nothing of the replica. kRecompute: forward passes without dropout over the first batches of the
// first epoch, as one rank would see them with this run's batch and augmentation, cut into parts for the ranks; each
// batch is normalised by its own mean and variance, as in training. The result is the mean and the (biased) variance of
// all their samples, and the same for every number of ranks but for rounding. At most one pass over the training set.
std::vector<float> statistics_for(const TrainingParts& parts, const TrainingPlan& plan, ConstSlice parameters);
// Collective: those for the communicator's consensus; where that is rank 0's worker, its own instead of an average.
std::vector<float> statistics_for_consensus(const TrainingParts& parts, const TrainingPlan& plan);

// Collective: batch-norm statistics of the mixture of all ranks' data: mean = E[mean_i], var = E[var_i] + Var[mean_i].
// `mine` is in the host's memory; `weight`: of this rank's in the mixture.
std::vector<float> average_statistics(const Model& model, Transport& transport, ConstSlice mine, double weight = 1);

}  // namespace eave
