// The records that a run makes of itself. They go into metrics.jsonl and summary.json, and to displays of a running
// job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace eave {

// One rank's record of the last optimizer steps up to `step`: as many as --log-every says (1 by default).
struct StepRecord {
  std::int64_t step = 0;       // number of steps done, from 1
  std::int64_t samples = 0;    // samples seen by all ranks together since the start
  double epoch = 0;            // samples / size of the training set
  double loss = 0;             // mean over this rank's samples in these steps; NaN if it had none
  double learning_rate = 0;    // in the last of these steps
  double seconds = 0;          // since training began, without evaluations
  double computing = 0;        // seconds: forward, backward, update
  double exchanging = 0;       // seconds during which an exchange was carried out in the background
  double waiting = 0;          // seconds blocked on other ranks
  double loading = 0;          // seconds blocked on the loader
  std::int64_t bytes = 0;      // bytes sent by this rank
  std::int64_t nonfinite = 0;  // number of these steps that were left out, because loss or gradient was not finite
  // With --clip-norm: the norm of the gradient before clipping, in the last of these steps. Not there if that step was
  // left out, or if this rank had no gradient.
  std::optional<double> gradient_norm = {};
};

// The number by which models of a run are judged, besides their loss. `eave train` records accuracy, and perplexity if
// the data is text. A program with a training loop of its own may record another.
struct Metric {
  std::string name = "accuracy";
  bool lower_is_better = false;
  bool operator==(const Metric&) const = default;
};

// Loss and accuracy of one model on the whole test set, from the same forward passes.
struct ModelScore {
  double loss = 0;      // mean over labels: of images, or of tokens that have a next token
  double accuracy = 0;  // 0–1; if the run has another metric, that metric's value
};

// Scores of the workers' replicas.
struct WorkerScores {
  ModelScore mean;   // of the mean of their parameters
  ModelScore first;  // of rank 0
  ModelScore best;   // of the best worker
  int best_rank = 0;
};

// Scores of the four models of a run: the center, the mean of the workers, rank 0 and the best worker. If the replicas
// are identical (gradients averaged, no batch norm), all four are equal.
struct EvaluationRecord {
  Metric metric = {};
  std::int64_t step = 0;
  std::int64_t samples = 0;
  double epoch = 0;
  double seconds = 0;                    // training time so far
  double evaluation_seconds = 0;         // duration of this evaluation
  ModelScore center;                     // of the consensus
  std::optional<WorkerScores> workers;   // always present at the end of the run
  std::optional<ModelScore> validation;  // of the consensus, on the samples held out of the training set
  std::optional<ModelScore> ema;         // of the moving average of the consensus, if the run has one
  std::optional<double> bits_per_byte;   // of the consensus on the test set, if its bytes of text are known
  double distance_min = 0;               // distances ‖x_i − c‖ / ‖c‖ of the workers from the consensus
  double distance_mean = 0;
  double distance_max = 0;
};

// How one worker spent its training time, in seconds, and how long other ranks waited for it. Ranks are compared by
// interval; each StepRecord covers one. The rank that waited least in an interval came last. The shortest wait is the
// duration of the exchange itself; all longer waiting of other ranks was for the last rank. If a method's exchanges do
// not include all ranks, only the last interval before each evaluation is compared.
struct RankTimes {
  double computing = 0, loading = 0, exchanging = 0, waiting = 0;  // as in StepRecord
  double waiting_for_ranks = 0;                                    // the part of `waiting` caused by slower ranks
  std::int64_t times_waited_for = 0;                               // intervals in which other ranks waited for it
  double seconds_waited_for = 0;                                   // summed over all other ranks
};

// Totals of a run over all ranks.
struct RunSummary {
  std::string communicator;
  std::string model;
  std::string data;
  int ranks = 0;
  int workers = 0;  // ranks that train
  std::int64_t steps = 0;
  double epochs = 0;
  std::int64_t samples = 0;       // samples seen by all ranks
  std::int64_t tokens = 0;        // `samples` times the tokens of a window; 0 if samples are not text
  double seconds = 0;             // training time of the slowest rank, without evaluations
  double samples_per_second = 0;  // of all ranks together
  // Set only for text on CPUs: FLOP/s of forward and backward for each computing thread of a worker, and its share of
  // the peak that rank 0 measures at the end of the run.
  std::optional<double> flops_per_core, share_of_peak;
  std::int64_t bytes_per_rank = 0;     // bytes sent by the rank that sent most
  double waiting_share = 0;            // seconds waiting / seconds, mean over workers
  std::int64_t peak_memory_bytes = 0;  // largest resident set of a rank, without memory lent to other ranks
  std::int64_t rollbacks = 0;          // times that the run went back to a checkpoint (--on-nonfinite rollback)
  std::int64_t repaired = 0;           // times that replicas were repaired
  std::int64_t nonfinite = 0;          // steps left out, summed over workers
  // Exchanges of each worker with an asynchronous center, since the run began or was resumed. 0 with other methods.
  std::int64_t exchanges = 0;
  // As ExchangeReport::staleness, over all workers. Entry 1000 counts all values from 1000 on. Zeros at the end are
  // left out. Empty if the method has no asynchronous center.
  std::vector<std::int64_t> staleness;
  std::vector<RankTimes> times_of_ranks;  // rank 0 only: of each worker, since the run began or was resumed
  std::int64_t checkpoints = 0;           // number saved since the run began or was resumed
  double checkpoint_seconds = 0;  // seconds for which checkpoints kept rank 0 from training; not part of `seconds`
  std::optional<double> overlap;  // with --trace: the share of communication time hidden behind computing
  EvaluationRecord evaluation;
};

}  // namespace eave
