// Compares runs and writes the report, on the terminal and into files.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/files/output_path.h"

namespace eave {

// The files to write. A file that is not set is not written.
struct ReportFiles {
  std::optional<OutputPath> page = {}, variants_csv = {}, runs_csv = {}, metrics_csv = {};
};

// Prints the tables and the verdict, and writes the files. `target` is as in compare_runs
// (report/compare/comparison.h). Throws Error: kBadData (no run can be read), kCannotCreate.
void report_runs(const std::vector<std::filesystem::path>& directories, const ReportFiles& files,
                 std::optional<double> target = std::nullopt);

}  // namespace eave
