// Puts runs together, on the terminal and in files.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/output_path.h"

namespace eave {

// The files that a report is written to. An empty one is not written.
struct ReportFiles {
  std::optional<OutputPath> page = {}, variants_csv = {}, runs_csv = {}, metrics_csv = {};
};

// Prints the tables and what won, and writes the files. `target`: see compare_runs. Throws Error: kBadData where no run
// can be read, kCannotCreate.
void report_runs(const std::vector<std::filesystem::path>& directories, const ReportFiles& files,
                 std::optional<double> target = std::nullopt);

}  // namespace eave
