// Words for what the system says when a file cannot be written.
#pragma once

#include <string>

#include "base/output_path.h"

namespace eave {

// "No space left on device; make room there, or name a place on another disk": the system's words for an errno, and
// what to do. Only the words where nothing is known to do.
std::string words_of_error(int error);

// Why an operation on `path` failed with `error`: names the link, the file or the missing directory on the way if that
// is the reason; else words_of_error.
std::string why_not_written(int error, const OutputPath& path);

// Why a directory that a person named cannot be one: a link without a target, a loop of links, a file. "": nothing of
// that kind.
std::string why_no_directory(const std::filesystem::path& named);

// Why there is no file at `path` that could be read, and what to do: it is a directory, a link without a target, a loop
// of links, a pipe or a device, a name on the way is a file, or nothing is there.
std::string why_no_file(const std::filesystem::path& path);

// A library's error in words of our own: which file or directory, why, and what to do.
std::string describe_filesystem_error(const std::filesystem::filesystem_error& error);

// Makes a directory that a person named, and those above it. Throws Error(kCannotCreate): `what`, such as
// "--run-dir runs/a", why, and what to do.
void make_named_directory(const std::filesystem::path& named, const std::string& what);

}  // namespace eave
