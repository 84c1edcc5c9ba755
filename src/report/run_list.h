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
  bool none_was_there = false;  // not one of the directories that were named
};

// Whether `directory` holds one run's metrics, as `eave train --run-dir` leaves them.
bool is_run_directory(const std::filesystem::path& directory);

// Reads each run directory, and each of those one level below a directory that is none itself. A directory without a
// run in it, one that is missing, or whose run cannot be read, is left out with the reason; one that was named twice is
// read once.
RunList read_runs(const std::vector<std::filesystem::path>& directories);

}  // namespace eave
