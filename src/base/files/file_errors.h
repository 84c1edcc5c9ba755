// Messages for errors of files: why a file cannot be written or read, and what to do.
#pragma once

#include <string>

#include "base/files/output_path.h"

namespace eave {

// The system's words for an errno, and what to do if that is known: "No space left on device; make room there, or name
// a place on another disk".
std::string words_of_error(int error);

// Why an operation on `path` failed with `error`. Names the link, the file or the missing directory on the way, if that
// is the reason; otherwise returns words_of_error.
std::string why_not_written(int error, const OutputPath& path);

// Why a path that a person named cannot be a directory: a link without a target, a loop of links, a file. "" if none of
// these is the reason.
std::string why_no_directory(const std::filesystem::path& named);

// Why there is no readable file at `path`, and what to do. The path may be a directory, a link without a target, a loop
// of links, a pipe or a device. A name on the way may be a file. Or nothing is there.
std::string why_no_file(const std::filesystem::path& path);

// Rewords the library's error: which file or directory, why, and what to do.
std::string describe_filesystem_error(const std::filesystem::filesystem_error& error);

// Makes a directory that a person named, and those above it. Throws Error(kCannotCreate) with `what` (such as
// "--run-dir runs/a"), the reason, and what to do.
void make_named_directory(const std::filesystem::path& named, const std::string& what);

}  // namespace eave
