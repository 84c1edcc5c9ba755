// Groups runs into variants: runs that differ only in the seed are one variant.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/compare/statistics.h"
#include "report/record/run_record.h"

namespace eave {

// The cost of finding a method's learning rate.
struct RateTuning {
  std::vector<double> rates;  // tried, ascending; the chosen one too
  std::size_t runs = 0;       // at the rates that were not chosen
  double seconds = 0;         // training time of these runs, finished or not
};

// The best value of an option lies at the edge of what was tried.
struct TunedEdge {
  std::string option;  // of tuned_options()
  double value = 0;
  std::vector<double> tried;
};

struct Variant {
  // "easgd tau=10": the communicator, tau, and the settings in which variants with this communicator differ.
  std::string method;
  // "easgd tau=10, 4 ranks, lr 0.1": the method, and the other settings in which variants differ.
  std::string label;
  // "model=lenet shape-rate=100mbit": the settings of model, data, device and network in which variants differ.
  std::string place;
  std::map<std::string, std::string> settings;  // of its first run, without those that only name or watch a run
  int ranks = 0, workers = 0;
  double batch_per_rank = 0, total_batch = 0;  // total_batch is summed over workers
  double learning_rate = 0;
  std::vector<std::size_t> runs, finished;  // indices
  std::vector<std::size_t> lost;            // those that diverged or failed
  bool are_copies =
      false;  // finished runs have several seeds and the same numbers: the program seems to ignore the seed
  bool changed_ranks = false;  // a finished run was resumed on another number of ranks, so its times are those of both
  bool chosen = false;         // represents its method: the best of the variants that differ in the learning rate
  std::string why_chosen;
  RateTuning tuning;  // of a chosen variant
  // "lr 0.3 is the largest of 3 tried": the best value lies at the edge of what was tried, so a better one may lie
  // outside. For the learning rate and tuned_options().
  std::vector<std::string> edges;
  std::vector<TunedEdge> option_edges;     // the same of tuned_options(), for --widen
  std::vector<std::string> option_tuning;  // "tau: 3 values, 20.0 s in 6 runs": what the values took that are not best
  bool chosen_by_test = false;             // chosen by test accuracy, because a validation accuracy was missing

  std::vector<std::string> seeds;  // of the finished runs, each once; "" of a run that does not tell its seed
  std::size_t evaluations = 0;     // of the finished run that has fewest

  // Estimates over the seeds of finished runs, in the order of `seeds`; nothing if there are none. Accuracies are those
  // at the end, and so is the test loss of the consensus; nothing of the loss if a run has none.
  std::optional<Estimate> accuracy, validation, loss, seconds, samples, samples_per_second, bytes_per_rank;
  // Speed-up: samples/s divided by that of one rank with the same batch per rank. Efficiency: speed-up divided by the
  // number of ranks. Nothing if there is no such one-rank variant.
  std::optional<Estimate> speedup, efficiency;
  // The cost until the first evaluation with the target accuracy. Nothing if a finished run did not reach it.
  std::optional<Estimate> seconds_to_target, samples_to_target, bytes_to_target;
  bool is_within = false;  // some run reached the target before its first evaluation, so its cost is an upper bound
  TimeShares shares;
};

// Groups the runs into variants, names them, and sorts them by place, ranks, batch, method and learning rate. The
// measures stay empty.
std::vector<Variant> group_runs(const std::vector<RunRecord>& runs);

// Whether a setting of a variant says how its ranks train: neither data, machine and network, nor a column of the
// table.
bool is_of_training(const std::string& name);

// The settings of model, data and machine in which the variants differ. If one of them has one rank, networks and
// slowed ranks of the other do not count.
std::vector<std::string> machine_differences(const Variant& a, const Variant& b);
// Whether there are none.
bool share_machine(const Variant& a, const Variant& b);

// The names of options that differ between variants, sorted. Options that only name or watch a run are left out.
std::vector<std::string> differing_settings(const std::vector<Variant>& variants);

}  // namespace eave
