// Files that eave reads under a name that it chose: anybody may have put a pipe there, for which a reader would wait.
#pragma once

#include <filesystem>
#include <string>

namespace eave {

// The kind of what stands at `path`, with its article: "a pipe (FIFO)", "a directory", "a symbolic link to a
// directory". "": a regular file, a link to one, or nothing.
std::string kind_instead_of_file(const std::filesystem::path& path);

// Before a file is opened, as opening alone may wait, or start a device. What is not there passes. Throws
// Error(kBadData) "PATH is no regular file but a pipe (FIFO); put the file itself in its place".
void require_regular(const std::filesystem::path& path);

// Opens for reading and does not wait. -1 and errno where that fails. Throws as require_regular. `flags`: more of
// open(2).
int open_regular(const std::filesystem::path& path, int flags = 0);

}  // namespace eave
