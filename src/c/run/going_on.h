// Helps a run to go on in its directory: what is refused, with which settings, and from which numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "c/averager.h"
#include "c/run/run_settings.h"
#include "eave/transport.h"
#include "report/record/reopened_run.h"
#include "report/record/run_directory.h"

namespace eave {

// Refuses what would lose a checkpoint or the record of a run without anybody having asked for it. Throws
// Error(kUsage).
void refuse_loss(const OutputFolder& folder, const RunSettings& settings, const Averager& averager);
// Whether the directory has a run that was killed before it recorded anything: its metrics.jsonl has no line. If it has
// checkpoints, somebody has emptied the file.
bool holds_bare_run(const OutputFolder& folder);
// The settings of a run that goes on. The learning rate may change, and the lines of steps have it; so the setting
// stays that of the beginning. A default that an earlier version did not record stays away. Throws
// Error(kConfiguration) if another main setting differs: readers would refuse the record.
std::map<std::string, std::string> config_to_go_on(const OutputFolder& folder, const RunSettings& settings);

// Numbers that rank 0 has read from a record that goes on, and that all ranks need.
struct FoundRecord {
  std::optional<std::int64_t> evaluated;  // the step of the evaluation after exactly the samples that were saved
  std::vector<double> seconds;            // KeptRecord::seconds
};
// Collective: rank 0's `kept` counts.
FoundRecord share(Transport& transport, const KeptRecord& kept);

// An evaluation after the save, and before the next step, may have written a line of the steps that the saved state has
// as untold. Then they count as told.
void count_lines_after_save(const FoundRecord& found, int rank, TrainingProgress& progress, ObservedSteps& observed);

}  // namespace eave
