// What a run tells a plan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/plan_model.h"

namespace eave {

struct PlanRun {
  PlanBasis basis;
  std::string communicator;                     // with which it was measured
  std::map<std::string, std::string> settings;  // every option in force
  int ranks = 0, workers = 0, hosts = 0;
  std::int64_t steps = 0;  // that count, of all ranks
  std::int64_t steps_per_record = 1;
  bool is_sum_measured = false;     // sum_bytes: from the bytes that ranks sent, not from the number of parameters
  bool is_hidden_measured = false;  // hidden_share
  std::optional<double> exchange_bytes_per_second;  // of a rank that waits for nobody, where ranks sum together
};

// Reads metrics.jsonl. The first tenth of each rank's steps, at most 10, are left out: they set things up.
// Throws Error: kInputMissing where there is none, kBadData where it is damaged or has too few steps to plan with.
PlanRun read_plan_metrics(const std::filesystem::path& path);
// That of a run's directory, which the error names.
PlanRun read_plan_run(const std::filesystem::path& directory);

}  // namespace eave
