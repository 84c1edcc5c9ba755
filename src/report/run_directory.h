// The directory that holds one run's results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace eave {

// The file in it that says which process writes there (base/directory_lock.h).
inline constexpr const char* kRunLock = "run.lock";

// Whether a run has begun there.
bool holds_run(const std::filesystem::path& path);

// What rank 0 does before it takes the lock. Throws Error(kCannotCreate): it is no directory, cannot be made, or holds
// what is no run; where it holds one, that lock's owner decides first.
void create_run_directory(const std::filesystem::path& path, bool overwrite);

// On every rank: throws Error(kCannotCreate) where this host sees `path` and may not write there.
void require_writable(const std::filesystem::path& path);

// Checks that files can be written in `path`. A directory that holds more than a lock is refused unless `overwrite`;
// then the files of an earlier run are removed, and only those. Rank 0 alone calls, and holds the lock. Throws Error:
// kCannotCreate (not writable, not empty).
void prepare_run_directory(const std::filesystem::path& path, bool overwrite);

// Of metrics.jsonl when a run goes on: what it says of steps up to one.
struct KeptLines {
  std::int64_t step = 0;
  std::int64_t samples = -1;        // where steps are counted anew: those with so many samples seen; -1: steps tell
  bool is_evaluated_again = false;  // the evaluation after that step goes
};

// Makes the run in `path` ready to go on: cuts what metrics.jsonl says of later steps and of an end, and a last line
// that was torn, so that each step is there once. Rank 0 alone calls.
// Throws Error: kInputMissing (no metrics.jsonl), kInputOutput, kBadData (a line before the last whole one is damaged,
// or says what cannot be; nothing was changed then).
void reopen_run_directory(const std::filesystem::path& path, const KeptLines& kept);

// Finished: its summary is there. Diverged: its last line tells so. Begun: neither, as after a kill, or after a failure
// that need not come again.
enum class RunState { kNone, kBegun, kFinished, kDiverged };
RunState state_of_run(const std::filesystem::path& path);
// The message that it ended with; "": none.
std::string failure_of_run(const std::filesystem::path& path);

}  // namespace eave
