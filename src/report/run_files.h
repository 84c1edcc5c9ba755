// The files of one run, held to each other.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "eave/check.h"
#include "report/run_record.h"

namespace eave {

// metrics.jsonl of the run in `directory`, as read_metrics, held to config.json and summary.json where they are there.
// The error does not name the directory.
RunRecord read_run(const std::filesystem::path& directory);
// The error with the directory before it.
Error error_of_run(const std::filesystem::path& directory, const Error& error);

// summary.json of the run in `directory`, held to the end of metrics.jsonl where that is there. Throws Error, which
// names the file: kInputMissing, kBadData.
RunSummary read_summary_of_run(const std::filesystem::path& directory);

// Whether the last line of its metrics.jsonl is the end of a run.
bool has_end(const std::filesystem::path& directory);

// Throws Error(kBadData) if config.json in `directory` is there and says other settings than `config`, those in the
// last header of metrics.jsonl. `is_whole`: any setting; else those that a run keeps when it is resumed.
void require_config_of_run(const std::filesystem::path& directory, const std::map<std::string, std::string>& config,
                           bool is_whole);

}  // namespace eave
