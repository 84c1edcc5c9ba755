// metrics.jsonl, read for a report.
#pragma once

#include <filesystem>

#include "report/run_record.h"

namespace eave {

// Reads in one pass, with bounded memory. A run whose last line lacks its end, or that has neither an end nor a
// failure, was interrupted. Throws Error for a file that no report can use, naming file, line and reason:
// kInputMissing, kInputOutput, kBadData (empty, damaged, of another format). The name of the run is left to the caller.
RunRecord read_metrics(const std::filesystem::path& path);

}  // namespace eave
