// Shared libraries as files, looked at before they are opened: the loader maps a file that was cut short without a
// word, and the process dies of SIGBUS later.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace eave {

// "" if the library and those that it needs are whole, as far as they are found: by LD_LIBRARY_PATH, the places that
// each library names, and the system's usual ones. Else which one is not, and how much of it is there. A name without a
// folder is looked for.
std::string why_library_is_damaged(const std::filesystem::path& library);

// Files of those folders whose names begin with `start`: "libcudnn.so." finds versions that nobody asked for.
std::vector<std::filesystem::path> libraries_named(const std::filesystem::path& user, const std::string& start);

}  // namespace eave
