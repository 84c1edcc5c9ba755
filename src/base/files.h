// Files that are whole or not there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_calls.h"

namespace eave {

// Writes beside the target, flushes to disk, renames over it: a reader sees the old file or the new one, never half,
// and after its return the new one, also when the power goes.
// Throws Error: kCannotCreate when it cannot be created, kInputOutput when the disk is full or fails.
void write_file_atomically(const std::filesystem::path& path, const std::string& content,
                           FileCalls& calls = system_file_calls());
// The same, from pieces that follow one another.
void write_file_atomically(const std::filesystem::path& path, const std::vector<std::string_view>& pieces,
                           FileCalls& calls = system_file_calls());

// Throws Error: kInputMissing when it is not there, kInputOutput when it cannot be read, kBadData above `limit_bytes`.
std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes = std::size_t{1} << 30);

}  // namespace eave
