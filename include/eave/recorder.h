// What a run leaves behind: metrics.jsonl, summary.json, config.json, model.safetensors, and what is seen while it
// runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace eave {

// One rank's account of `steps` optimizer steps that end with `step` (--log-every of them; 1 by default).
struct StepRecord {
  std::int64_t step = 0;       // number of steps done, from 1
  std::int64_t samples = 0;    // seen by all ranks together since the start
  double epoch = 0;            // samples / size of the training set
  double loss = 0;             // mean over this rank's samples in these steps; NaN when it had none
  double learning_rate = 0;    // of the last of these steps
  double seconds = 0;          // since training began, evaluations left out
  double computing = 0;        // seconds: forward, backward, update
  double exchanging = 0;       // seconds during which an exchange was carried out in the background
  double waiting = 0;          // seconds blocked on other ranks
  double loading = 0;          // seconds blocked on the loader
  std::int64_t bytes = 0;      // sent by this rank
  std::int64_t nonfinite = 0;  // of the steps, those whose loss or gradient was not finite and that were left out
};

// Loss and accuracy of one model on the whole test set, both from the same forward passes.
struct ModelScore {
  double loss = 0;
  double accuracy = 0;  // 0–1
};

// Of the workers' replicas.
struct WorkerScores {
  ModelScore mean;   // of their parameters
  ModelScore first;  // rank 0
  ModelScore best;
  int best_rank = 0;
};

// The four models of a run. Where the replicas are identical (gradients averaged, no batch norm) all four are one.
struct EvaluationRecord {
  std::int64_t step = 0;
  std::int64_t samples = 0;
  double epoch = 0;
  double seconds = 0;                    // training time so far
  double evaluation_seconds = 0;         // what this evaluation took
  ModelScore center;                     // the consensus
  std::optional<WorkerScores> workers;   // always where the run ends
  std::optional<ModelScore> validation;  // the consensus on what is held out of the training set
  double distance_min = 0;               // consensus distance ‖x_i − c‖ / ‖c‖ over workers
  double distance_mean = 0;
  double distance_max = 0;
};

// How one worker spent its training time, in seconds, and how others waited for it. Ranks are compared interval by
// interval, each as long as a StepRecord: the rank that waited least came last, and the others waited for it as much
// longer than it did. What it waited itself is the exchange's own time.
struct RankTimes {
  double computing = 0, loading = 0, exchanging = 0, waiting = 0;  // as in StepRecord
  double waiting_for_ranks = 0;                                    // of `waiting`, what was due to slower ranks
  std::int64_t times_waited_for = 0;                               // intervals in which others waited for it
  double seconds_waited_for = 0;                                   // by all others together
};

// Totals of a run, taken over ranks.
struct RunSummary {
  std::string communicator;
  std::string model;
  std::string data;
  int ranks = 0;
  int workers = 0;  // of the ranks, those that train
  std::int64_t steps = 0;
  double epochs = 0;
  std::int64_t samples = 0;            // seen by all ranks
  double seconds = 0;                  // training, evaluations left out; the slowest rank
  double samples_per_second = 0;       // of all ranks together
  std::int64_t bytes_per_rank = 0;     // sent by the rank that sent most
  double waiting_share = 0;            // seconds waiting / seconds, mean over workers
  std::int64_t peak_memory_bytes = 0;  // largest resident set of a rank, without others' lent memory
  std::int64_t rollbacks = 0;          // times that the run went back to a checkpoint (--on-nonfinite rollback)
  std::int64_t repaired = 0;           // times that replicas were repaired
  std::int64_t nonfinite = 0;          // steps that were left out, of all workers
  std::int64_t exchanges = 0;          // of each worker with an asynchronous center, since the run began or
                                       // was resumed; 0 with other methods
  // [k]: how often k exchanges of others lay between two of a worker, over all workers; entry 1000 counts all
  // from there on, zeros at the end are left out. Empty where there is no such order.
  std::vector<std::int64_t> staleness;
  std::vector<RankTimes> times_of_ranks;  // rank 0: of each worker, since the run began or was resumed
  std::int64_t checkpoints = 0;           // saved since the run began or was resumed
  double checkpoint_seconds = 0;          // for which they kept rank 0 from training; not in `seconds`
  std::optional<double> overlap;          // share of communication's time behind computing; of a run with --trace
  EvaluationRecord evaluation;
};

}  // namespace eave
