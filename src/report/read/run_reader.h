// Reads runs: metrics.jsonl alone, all files of one run, or all runs that a person named.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "eave/check.h"
#include "report/record/run_record.h"

namespace eave {

// Reads the file in one pass, with bounded memory. A run is interrupted if it has neither an end nor a failure, or if
// its last line is incomplete. Throws Error if no report can use the file: kInputMissing, kInputOutput, kBadData
// (empty, damaged or of another format). The error names file, line and reason. The caller sets the run's name.
RunRecord read_metrics(const std::filesystem::path& path);

// Reads metrics.jsonl of the run in `directory` as read_metrics does, and checks config.json and summary.json against
// it if they exist. The error does not name the directory.
RunRecord read_run(const std::filesystem::path& directory);
// Puts the directory before the error's message, unless the message names it already.
Error error_of_run(const std::filesystem::path& directory, const Error& error);

// Reads summary.json of the run in `directory`, and checks it against the end of metrics.jsonl if that exists. Throws
// Error, which names the file: kInputMissing, kBadData.
RunSummary read_summary_of_run(const std::filesystem::path& directory);

// Whether the last line of the run's metrics.jsonl is an "end" line.
bool has_end(const std::filesystem::path& directory);

// Throws Error(kBadData) if config.json in `directory` exists and differs from `config`, the settings in the last
// header of metrics.jsonl. With `is_whole`, every setting counts. Otherwise only settings that a resume may not change
// count.
void require_config_of_run(const std::filesystem::path& directory, const std::map<std::string, std::string>& config,
                           bool is_whole);

struct LeftOut {
  std::string name, why;
  ExitCode code = ExitCode::kBadData;  // of the error
};

struct RunList {
  std::vector<RunRecord> runs;
  std::vector<LeftOut> left_out;
};

// Reads each run directory. In a directory that is not a run directory, it reads the run directories one level below. A
// directory that is missing, holds no run, or whose run cannot be read is left out with the reason. A directory that
// was named twice is read once.
RunList read_runs(const std::vector<std::filesystem::path>& directories);

}  // namespace eave
