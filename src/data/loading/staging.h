// Copies data files to a local disk of each host (--stage-to).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace eave {

// Copies files of `from` into a folder of `to` that is named after `from`, and returns that folder. `names` may contain
// folders.
//
// A copy that is already there is kept under two conditions. Its bytes have the hash of those that were copied. The
// original has the size, the time of modification and the time of change that it had then. So the original is not read
// again, and ranks of one host that come within 10 minutes read a copy once.
//
// If several ranks share `to`, one copies and the others wait. Throws Error: kCannotCreate if there is no room or no
// right to write, or a link is among the copies; kInputOutput if a file cannot be read.
std::filesystem::path stage_files(const std::filesystem::path& from, const std::vector<std::string>& names,
                                  const std::filesystem::path& to);

}  // namespace eave
