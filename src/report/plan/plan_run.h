// Reads the measurements of a run that a plan needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/plan/plan_model.h"

namespace eave {

struct PlanRun {
  PlanBasis basis;
  std::string communicator;                     // of the measured run
  std::optional<ExchangePattern> pattern;       // of that communicator; nothing if it is not known here
  std::map<std::string, std::string> settings;  // every option in force
  int ranks = 0, workers = 0, hosts = 0;
  std::int64_t tokens_per_sample = 0;  // 0 if samples are not text
  std::int64_t steps = 0;              // steps used, summed over all ranks
  std::int64_t steps_per_record = 1;
  bool is_sum_measured = false;     // sum_bytes comes from the bytes sent, not from the number of parameters
  bool is_hidden_measured = false;  // hidden_share was measured, not assumed
  std::int64_t steps_per_sum = 0;   // measured steps from one sum of parameters to the next; 0 if not measured
  // The rate of an exchange at a rank that waits for no other rank. Measured for sums of gradients only.
  std::optional<double> exchange_bytes_per_second;
};

// Returns the pattern of a communicator's exchanges; nothing if no communicator has this name.
using PatternOf = std::function<std::optional<ExchangePattern>(const std::string& communicator)>;

// Reads metrics.jsonl. The first tenth of each rank's records, at most 10, are left out, because they include set-up.
// Throws Error: kInputMissing (no such file), kBadData (damaged, or too few steps for a plan).
PlanRun read_plan_metrics(const std::filesystem::path& path, const PatternOf& pattern_of);
// Reads the metrics.jsonl of a run's directory, which the error names.
PlanRun read_plan_run(const std::filesystem::path& directory, const PatternOf& pattern_of);

// The steps from one exchange with a tree's global center to the next in a run with these settings. If they name none
// that is a multiple of `tau`: 10 tau, the default of easgd-tree.
std::int64_t global_tau_of(const std::map<std::string, std::string>& settings, std::int64_t tau);

}  // namespace eave
