// The directory that holds one run's results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace eave {

// Creates `path` and checks that files can be written there. A directory that already holds something is refused unless
// `overwrite`; then the files of an earlier run are removed, and only those. Rank 0 alone calls.
// Throws Error: kCannotCreate (not a directory, not writable, not empty).
void prepare_run_directory(const std::filesystem::path& path, bool overwrite);

// Makes the run in `path` ready to go on after `step`: cuts what metrics.jsonl says of later steps and of an end, and a
// last line that was torn, so that each step is there once. Rank 0 alone calls.
// Throws Error: kInputMissing (no metrics.jsonl), kInputOutput.
void reopen_run_directory(const std::filesystem::path& path, std::int64_t step);

// Finished: its summary is there. Diverged: its last line tells so. Begun: neither, as after a kill, or after a failure
// that need not come again.
enum class RunState { kNone, kBegun, kFinished, kDiverged };
RunState state_of_run(const std::filesystem::path& path);

}  // namespace eave
