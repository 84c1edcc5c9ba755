// The reports that the ranks of a recorded run send to rank 0 at an evaluation, and their totals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/recorder.h"
#include "eave/transport.h"

namespace eave {

// The report of one rank.
struct RankReport {
  double distance = 0, seconds = 0, waiting = 0;
  std::int64_t steps = 0, samples = 0, own_samples = 0, bytes = 0, nonfinite = 0, memory = 0;
  ModelScore own;  // of this rank's parameters, at an evaluation of the workers
};

// A report and the records of steps as bytes that travel, and what such bytes hold.
std::string pack(const RankReport& report, const std::vector<StepRecord>& records);
RankReport report_in(const std::string& packed);
std::vector<StepRecord> records_in(const std::string& packed);

// Totals over all ranks. `own_samples` are those that ranks have counted for themselves, because they take steps
// independently; `samples` include them.
struct RankTotals {
  explicit RankTotals(const std::vector<RankReport>& reports);
  // Collective: rank 0's become those of all ranks.
  void share(Transport& transport);

  std::int64_t steps = 0, samples = 0, own_samples = 0;
};

}  // namespace eave
