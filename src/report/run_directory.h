// The directory that holds one run's results.
#pragma once

#include <filesystem>
#include <string>

namespace eave {

// Creates `path` and checks that files can be written there. A directory that already holds something is refused unless
// `overwrite`; then the files of an earlier run are removed, and only those. Rank 0 alone calls.
// Throws Error: kCannotCreate (not a directory, not writable, not empty).
void prepare_run_directory(const std::filesystem::path& path, bool overwrite);

}  // namespace eave
