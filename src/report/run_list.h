// The runs that were named, and those of them that no report can use.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/run_record.h"

namespace eave {

struct LeftOut {
  std::string name, why;
};

struct RunList {
  std::vector<RunRecord> runs;
  std::vector<LeftOut> left_out;
};

// Whether `directory` holds one run's metrics, as `eave train --run-dir` leaves them.
bool is_run_directory(const std::filesystem::path& directory);

// Reads each run directory, and each of those one level below a directory that is none itself. A directory without a
// run in it, or whose run cannot be read, is left out with the reason; one that was named twice is read once.
// Throws Error(kInputMissing) where one that was named is no directory.
RunList read_runs(const std::vector<std::filesystem::path>& directories);

}  // namespace eave
