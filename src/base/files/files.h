// Writes files that are either whole or absent, and reads whole files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_calls.h"

namespace eave {

// Writes beside the target, flushes to the disk, and renames over the target. A reader sees the old file or the new
// one, never a part. After return it is the new one, even if the power fails. If something else has the name or
// NAME.partial, such as a link, it loses that name and is otherwise left alone. Throws Error: kCannotCreate if the file
// cannot be created, kInputOutput if the disk is full or fails.
void write_file_atomically(const OutputPath& path, const std::string& content, FileCalls& calls = system_file_calls());
// The same, from consecutive pieces.
void write_file_atomically(const OutputPath& path, const std::vector<std::string_view>& pieces,
                           FileCalls& calls = system_file_calls());

// The same for a file that a person named. write_file_atomically calls it for an OutputPath::of_person. If the file is
// a link, its target is replaced as above. A pipe, a device and this process's own streams (/dev/stdout, /dev/fd/N) are
// written to. Waits for a pipe's reader. Throws as above.
void write_named_file(const std::filesystem::path& path, const std::vector<std::string_view>& pieces);
// Whether a new file may be written at `path`: nothing is there, or a pipe, a device or a stream.
bool may_be_new(const std::filesystem::path& path);
// Whether `path` is this process's standard output.
bool is_standard_output(const std::filesystem::path& path);

// Reads a whole file. Throws Error: kInputMissing if it is missing; kInputOutput if it cannot be read; kBadData if it
// has more than `limit_bytes` or is not a regular file.
std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes = std::size_t{1} << 30);
// The same for a file that a person named. It may also be a device, /dev/stdin, or a pipe, for whose writer this waits.
std::string read_named_file(const std::filesystem::path& path, std::size_t limit_bytes);

}  // namespace eave
