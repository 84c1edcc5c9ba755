// Copies of data files on a disk of each host's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace eave {

// Copies files of `from`, by names that may have folders in them, into a folder of `to` that is named after `from`, and
// returns that folder. A copy that is there already stays if its bytes have the hash of those that were copied, and the
// original has the size and the times of modification and of change that it had then. So the original is not read
// again, and a copy is read once by the ranks of a host that come within 10 minutes. Of ranks that share `to` one
// copies, and the others wait. Throws Error: kCannotCreate where there is no room or no right to write, or a link
// stands among the copies; kInputOutput where a file cannot be read.
std::filesystem::path stage_files(const std::filesystem::path& from, const std::vector<std::string>& names,
                                  const std::filesystem::path& to);

}  // namespace eave
