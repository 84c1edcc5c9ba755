// Reads the files of one run and checks that they agree with each other.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "eave/check.h"
#include "report/record/run_record.h"

namespace eave {

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

}  // namespace eave
