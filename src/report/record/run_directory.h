// Prepares, checks and reopens the directory that holds one run's results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_path.h"
#include "eave/recorder.h"

namespace eave {

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

// Says which lines of metrics.jsonl are kept when a run is resumed. Samples decide, not steps: a resume with another
// number of ranks counts steps differently.
struct KeptLines {
  std::int64_t samples = 0;         // of all ranks: lines after so many samples are cut
  bool is_evaluated_again = false;  // true: the evaluation after exactly these samples is cut too
  Metric metric = {};               // of the lines that will follow
  // Steps done by each rank, if ranks count steps as before; later step lines of a rank are cut too. May be empty.
  std::vector<std::int64_t> steps = {};
  // Steps done by all ranks, as the last lines count them. If it is not 0, step lines that are missing up to it are
  // counted, and one line of type "lost" with their number replaces the earlier ones.
  std::int64_t last_step = 0;
  // The number of ranks that saved the checkpoint; 0: not known. A header of another number of ranks is cut if no kept
  // line follows it, because that attempt saved nothing.
  int ranks = 0;
};

// What a resume finds in the lines that it keeps.
struct KeptRecord {
  std::optional<EvaluationRecord> evaluation;  // the last one, if it was made after exactly KeptLines::samples
  int ranks = 0;                               // of the last header that is kept
  std::vector<double> seconds = {};            // of each rank's last line, as far as ranks have any
  std::int64_t missing = 0;                    // step lines, with KeptLines::last_step
};

// The largest step that metrics.jsonl holds of any rank, up to where it is damaged; 0 if it holds none, or is missing.
std::int64_t recorded_steps(const std::filesystem::path& run);

// Prepares a run's directory for a resume, so that each step appears once in metrics.jsonl. It cuts the lines of later
// samples, the end, an incomplete last line, and headers as KeptLines::ranks says. Only rank 0 calls this.
// Throws Error: kInputMissing (no metrics.jsonl), kInputOutput, kBadData (there is no header, or a line before the last
// whole one is damaged or contradicts another, or has another metric). After kBadData nothing was changed.
KeptRecord reopen_run_directory(const OutputFolder& run, const KeptLines& kept);

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

}  // namespace eave
