// Files that are whole or not there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_calls.h"

namespace eave {

// Writes beside the target, flushes to disk, renames over it: a reader sees the old file or the new one, never half,
// and after its return the new one, also when the power goes. What is under the name or NAME.partial already, such as a
// link, loses that name and is else left alone.
// Throws Error: kCannotCreate when it cannot be created, kInputOutput when the disk is full or fails.
void write_file_atomically(const OutputPath& path, const std::string& content, FileCalls& calls = system_file_calls());
// The same, from pieces that follow one another.
void write_file_atomically(const OutputPath& path, const std::vector<std::string_view>& pieces,
                           FileCalls& calls = system_file_calls());

// The same for a file that a person named (OutputPath::of_person), which write_file_atomically calls: of a link the
// target is written as above; a pipe, a device and this process's own streams (/dev/stdout, /dev/fd/N) are written to.
// Waits for a pipe's reader. Throws as above.
void write_named_file(const std::filesystem::path& path, const std::vector<std::string_view>& pieces);
// Whether a new file may take the place of what is there: nothing, a pipe, a device or a stream.
bool may_be_new(const std::filesystem::path& path);
// Whether it is this process's own standard output.
bool is_standard_output(const std::filesystem::path& path);

// Throws Error: kInputMissing when it is not there, kInputOutput when it cannot be read, kBadData above `limit_bytes`
// and when it is no regular file.
std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes = std::size_t{1} << 30);
// The same for a file that a person named: it may be a pipe, for whose writer this waits, a device or /dev/stdin.
std::string read_named_file(const std::filesystem::path& path, std::size_t limit_bytes);

}  // namespace eave
