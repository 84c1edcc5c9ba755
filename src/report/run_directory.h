// The directory that holds one run's results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/output_path.h"

namespace eave {

// The file in it that says which process writes there (base/directory_lock.h).
inline constexpr const char* kRunLock = "run.lock";

// Whether a run has begun there.
bool holds_run(const std::filesystem::path& path);
// Whether this is the name of a file that eave keeps in a run's directory, and that directory holds a run.
bool is_file_of_run(const std::filesystem::path& path);
// Throws Error(kBadData) if what stands under the name of one of its files that are read is no regular file.
void require_run_files(const std::filesystem::path& path);

// Why `path`, which was named as a run's, is no directory: there is none, it is a file, or a link that leads nowhere.
// "" if it is one.
std::string why_no_directory_of_run(const std::filesystem::path& path);

// The directory in it that holds checkpoints, unless --checkpoint-dir names another.
inline constexpr const char* kCheckpoints = "checkpoint";

// What rank 0 does before it takes the lock. Throws Error(kCannotCreate): it is no directory, cannot be made, or holds
// what is no run; where it holds one, that lock's owner decides first.
void create_run_directory(const OutputFolder& run, bool overwrite);

// Throws Error(kCannotCreate) if its directory of checkpoints is a file, or a symbolic link, which eave does
// not write through.
void refuse_link_of_checkpoints(const OutputFolder& run);

// On every rank: throws Error(kCannotCreate) if this host sees the directory and may not write there. `what`, such as
// "--run-dir runs/a", begins the message.
void require_writable(const std::filesystem::path& path, const std::string& what);

// Checks that files can be written in `run`. A directory that holds more than a lock is refused unless `overwrite`;
// then the files of an earlier run are removed, and only those. Rank 0 alone calls, and holds the lock. Throws Error:
// kCannotCreate (not writable, not empty).
void prepare_run_directory(const OutputFolder& run, bool overwrite);

// Removes the checkpoints in a directory, and nothing else there. Throws Error(kCannotCreate), which `what` begins.
void remove_checkpoints(const OutputFolder& checkpoints, const std::string& what);

// The lines of metrics.jsonl that stay when a run goes on. Steps do not tell: a resume with other ranks counts them
// anew.
struct KeptLines {
  std::int64_t samples = 0;         // seen by all ranks
  bool is_evaluated_again = false;  // the evaluation after these samples goes
};

// Makes the run in `path` ready to go on: cuts what metrics.jsonl says of later samples and of an end, and a last line
// that was torn, so that each step is there once. Rank 0 alone calls.
// Throws Error: kInputMissing (no metrics.jsonl), kInputOutput, kBadData (a line before the last whole one is damaged,
// or says what cannot be; nothing was changed then).
void reopen_run_directory(const OutputFolder& run, const KeptLines& kept);

// Finished: its results are there, the model and the summary, which is written last. Diverged: its last line tells so.
// Begun: neither, as after a kill, or after a failure that need not come again, such as a full disk.
enum class RunState { kNone, kBegun, kFinished, kDiverged };
RunState state_of_run(const std::filesystem::path& path);
// The message that it ended with; "": none.
std::string failure_of_run(const std::filesystem::path& path);

}  // namespace eave
