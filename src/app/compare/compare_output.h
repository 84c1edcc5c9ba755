// The directory of a comparison: one run directory per run, the settings that all runs share, locks, and the report.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "app/commands/report_runs.h"
#include "app/compare/compare_grid.h"
#include "base/files/directory_lock.h"
#include "eave/options.h"

namespace eave {

// Refuses --title and --notes with --part, because a part writes no page. Throws Error(kUsage).
void refuse_page_words_of_part(const OptionValues& own);

// Keeps only the groups that --part names. Throws Error(kUsage).
void keep_part(Grid& grid, const OptionValues& own);

// Makes the directory --output and takes its lock, or that of --part. Throws Error(kCannotCreate), also if the
// directory holds files of another program: the report would overwrite them.
std::unique_ptr<DirectoryLock> lock_output(const OptionValues& own);

using KeepsRun = std::function<bool(const std::filesystem::path&)>;  // may throw Error: the run cannot be read

// Removes the page of an earlier comparison, and writes the settings that all runs share, or compares them with those
// that are there. Methods, ranks, batches, rates and seeds may be added to a comparison later; shared settings may not
// change once a run is there that the comparison keeps: `is_kept` says so of a directory. If several parts begin
// together, one of them writes the file, and the others compare. Throws Error(kConfiguration).
void prepare_output(const OptionValues& own, const Settings& common, const KeepsRun& is_kept);

// Prints the tables and writes the page, or says how to do so when all parts are done. Throws Error(kDiverged) at the
// end if no run has finished.
void tell_results(const OptionValues& own, const PageWords& words);

}  // namespace eave
