// Runs put together: those that differ in nothing but the seed are one variant.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/run_record.h"
#include "report/statistics.h"

namespace eave {

struct Variant {
  std::string method;  // "easgd tau=10": the communicator, tau, and what else differs between variants with this one
  std::string label;   // method, and what more tells this variant from all others: "easgd tau=10, 4 ranks, lr 0.1"
  std::string place;   // where it ran and on what, as far as that differs: "model=lenet shape-rate=100mbit"
  std::map<std::string, std::string> settings;  // of its first run, without those that only name or watch a run
  int ranks = 0, workers = 0;
  double batch_per_rank = 0, total_batch = 0;  // total: over workers
  double learning_rate = 0;
  std::vector<std::size_t> runs, finished;  // indices
  bool chosen = false;                      // stands for its method: best of those that differ in the learning rate
  std::string why_chosen;
  bool chosen_by_test = false;  // no validation accuracy was there to choose by

  // Over finished runs; nothing where there are none. Accuracies are those at the end.
  std::optional<Estimate> accuracy, validation, seconds, samples, samples_per_second, bytes_per_rank;
  // Samples/s over those of one rank with the same batch per rank, and that over the number of ranks. Nothing where
  // there is no such variant.
  std::optional<Estimate> speedup, efficiency;
  // Until the first evaluation with the target accuracy. Nothing where a finished run did not get there.
  std::optional<Estimate> seconds_to_target, samples_to_target, bytes_to_target;
  TimeShares shares;
};

// Groups, names and sorts them: by place, ranks, batch, method, learning rate. Measures are left empty.
std::vector<Variant> group_runs(const std::vector<RunRecord>& runs);

// Whether both ran the same model on the same data and kind of machine, whatever the network.
bool share_machine(const Variant& a, const Variant& b);

// The options that differ between runs, by name; those that only name or watch a run are left out.
std::vector<std::string> differing_settings(const std::vector<Variant>& variants);

}  // namespace eave
