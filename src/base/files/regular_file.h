// Opens files that eave reads under a name that it chose. Anybody may have put a pipe there, and a reader would wait
// for it.
#pragma once

#include <filesystem>
#include <string>

namespace eave {

// The kind of the thing at `path`, with its article: "a pipe (FIFO)", "a directory", "a symbolic link to a directory".
// "" if it is a regular file, a link to one, or nothing.
std::string kind_instead_of_file(const std::filesystem::path& path);

// Call before opening a file: opening alone may wait, or start a device. A missing file passes. Throws Error(kBadData):
// "PATH is no regular file but a pipe (FIFO); put the file itself in its place".
void require_regular(const std::filesystem::path& path);

// Opens for reading and does not wait. Returns -1 and sets errno if that fails. Throws as require_regular does.
// `flags`: more flags of open(2).
int open_regular(const std::filesystem::path& path, int flags = 0);

}  // namespace eave
