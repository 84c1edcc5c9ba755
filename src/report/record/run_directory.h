// Prepares and checks the directory that holds one run's results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "eave/recorder.h"

namespace eave {

// Files in it. The summary is written last.
inline constexpr const char *kMetricsFile = "metrics.jsonl", *kSummaryFile = "summary.json";
// The lock file in it, which names the process that writes there (base/files/directory_lock.h).
inline constexpr const char* kRunLock = "run.lock";

// Whether a run has begun in this directory: it has a metrics.jsonl.
bool holds_run(const std::filesystem::path& path);
// The directories in this one that hold runs, sorted. None if it cannot be read.
std::vector<std::filesystem::path> runs_below(const std::filesystem::path& directory);
// Whether `path` has the name of a file that eave keeps in a run's directory, and its directory holds a run.
bool is_file_of_run(const std::filesystem::path& path);
// Throws Error(kBadData) if one of the run's files that eave reads exists and is not a regular file.
void require_run_files(const std::filesystem::path& path);

// Why `path`, which a person named as a run's directory, is not a directory: nothing is there, it is a file, or a link
// that leads nowhere. "" if it is a directory.
std::string why_no_directory_of_run(const std::filesystem::path& path);
// The same for a command that reads one run: `path` may not be a directory of several runs either.
std::string why_no_single_run(const std::filesystem::path& path);

// The subdirectory for checkpoints, unless --checkpoint-dir names another directory.
inline constexpr const char* kCheckpoints = "checkpoint";

// Creates the directory. Rank 0 calls this before it takes the lock. If the directory holds a run, this call accepts
// it: prepare_run_directory checks it once the lock is held.
// Throws Error(kCannotCreate): it is not a directory, cannot be created, or holds files but no run.
void create_run_directory(const OutputFolder& run, bool overwrite);

// Throws Error(kCannotCreate) if the run's directory of checkpoints is a file, or a symbolic link. eave does not write
// checkpoints through a link.
void refuse_link_of_checkpoints(const OutputFolder& run);

// Every rank calls this. Throws Error(kCannotCreate) if this host sees the directory but this process may not write
// there. The message begins with `what`, such as "--run-dir runs/a".
void require_writable(const std::filesystem::path& path, const std::string& what);

// Prepares the directory for a run that begins. If it holds more than a lock, it is refused unless `overwrite`. With
// `overwrite`, the files of the earlier run are removed, and no others. Only rank 0 calls this, while it holds the
// lock. Throws Error(kCannotCreate): not writable, not empty.
void prepare_run_directory(const OutputFolder& run, bool overwrite);

// Removes the checkpoints in a directory, and nothing else there. Throws Error(kCannotCreate) with a message that
// begins with `what`.
void remove_checkpoints(const OutputFolder& checkpoints, const std::string& what);

// The largest step that metrics.jsonl holds of any rank, up to where it is damaged; 0 if it holds none, or is missing.
std::int64_t recorded_steps(const std::filesystem::path& run);

// Whether it holds checkpoints.
bool holds_checkpoints(const OutputFolder& run);

// State of the run in a directory.
// kFinished: the model and the summary, which is written last, are there. A run that a program with a loop of its own
// recorded ("program" in config.json) has finished without a model file. kDiverged: the last line of metrics.jsonl
// says so. kBegun: neither holds, as after a kill, or after a failure that need not happen again, such as a full disk.
enum class RunState { kNone, kBegun, kFinished, kDiverged };
RunState state_of_run(const std::filesystem::path& path);
// The message of the failure that ended the run; "" if there is none.
std::string failure_of_run(const std::filesystem::path& path);
// Says how a run ended whose last line is a failure: "failed: no space left", or for a run that was asked to leave its
// message alone, "left on request after step 7; …".
std::string describe_failed_end(int code, const std::string& message);
// The same for the run in a directory; "" if its last line is no failure.
std::string failed_end_of_run(const std::filesystem::path& path);

}  // namespace eave
