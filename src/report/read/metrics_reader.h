// Reads metrics.jsonl for a report.
#pragma once

#include <filesystem>

#include "report/record/run_record.h"

namespace eave {

// Reads the file in one pass, with bounded memory. A run is interrupted if it has neither an end nor a failure, or if
// its last line is incomplete. Throws Error if no report can use the file: kInputMissing, kInputOutput, kBadData
// (empty, damaged or of another format). The error names file, line and reason. The caller sets the run's name.
RunRecord read_metrics(const std::filesystem::path& path);

}  // namespace eave
