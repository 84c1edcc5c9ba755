// Expands paths as people type them, and reads and writes the files that they name. Links are followed, and a name may
// be that of a pipe, a device or a stream.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/quantities.h"

namespace eave {

// Replaces a leading ~ or ~user by that home directory, as a shell does. A shell leaves --run-dir=~/x alone, and
// nothing else expands a path in a file or in the environment.
//
// Returns no value for an unknown user, a missing home directory, a shell's ~+ and ~-, and a variable that nobody
// expanded ($HOME/x). ./~ and ./$HOME mean files with these names.
Reading<std::string> read_path(const std::string& text);

// The same for a word of the command line that is not an option. Throws Error(kUsage), in which `what` names the word.
std::string path_of_word(const std::string& text, const std::string& what);

// Writes a file that a person named. write_file_atomically calls it for an OutputPath::of_person. If the file is a
// link, its target is replaced, as by write_file_atomically. A pipe, a device and this process's own streams
// (/dev/stdout, /dev/fd/N) are written to. Waits for a pipe's reader. Throws as write_file_atomically does.
void write_named_file(const std::filesystem::path& path, const std::vector<std::string_view>& pieces);
// Whether a new file may be written at `path`: nothing is there, or a pipe, a device or a stream.
bool may_be_new(const std::filesystem::path& path);
// Whether `path` is this process's standard output.
bool is_standard_output(const std::filesystem::path& path);
// Reads a whole file that a person named, as read_file does (input_file.h). It may also be a device, /dev/stdin, or a
// pipe, for whose writer this waits.
std::string read_named_file(const std::filesystem::path& path, std::size_t limit_bytes);

}  // namespace eave
