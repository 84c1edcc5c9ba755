// Checks the files of shared libraries before they are opened. The loader maps a truncated file without complaint, and
// the process dies of SIGBUS later.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace eave {

// Returns "" if `library` and every library that it needs are complete. Otherwise it says which file is cut short, and
// how much of it is there. Needed libraries are searched in LD_LIBRARY_PATH, the folders that each library names, and
// the system's usual ones; those not found are skipped. A `library` without a folder is searched for too.
std::string why_library_is_damaged(const std::filesystem::path& library);

// Files in the same folders whose names begin with `start`. For example, "libcudnn.so." finds versions that nobody
// asked for. `user` is the library whose folders are searched.
std::vector<std::filesystem::path> libraries_named(const std::filesystem::path& user, const std::string& start);

}  // namespace eave
