// Reads the runs that a person named, and lists those that no report can use.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/record/run_record.h"

namespace eave {

struct LeftOut {
  std::string name, why;
};

struct RunList {
  std::vector<RunRecord> runs;
  std::vector<LeftOut> left_out;
  bool none_was_there = false;  // no named directory exists
};

// Whether `directory` holds the metrics of one run, as `eave train --run-dir` writes them.
bool is_run_directory(const std::filesystem::path& directory);

// Reads each run directory. In a directory that is not a run directory, it reads the run directories one level below. A
// directory that is missing, holds no run, or whose run cannot be read is left out with the reason. A directory that
// was named twice is read once.
RunList read_runs(const std::vector<std::filesystem::path>& directories);

}  // namespace eave
