// Finds out which ranks can access rank 0's directory, and not a directory of their own with the same name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// A random text of 16 hexadecimal digits, to tell this job's files from those of others.
std::string make_token();
// Whether the file appears within 3 seconds. A network file system may show it late.
bool appears(const std::filesystem::path& file);

// Collective. Returns, on all ranks, the ranks that do not see rank 0's `directory`, ascending. Returns none if rank 0
// has no such directory. A rank that sees it late may be in the list.
std::vector<int> find_ranks_without_access(Transport& transport, const std::filesystem::path& directory);

// "2 of 4 ranks do not see --run-dir DIR on rank 0's host a, first rank 2 on b". `hosts` is the host of every rank.
std::string describe_ranks_without_access(const std::vector<int>& without_access, const std::vector<std::string>& hosts,
                                          const std::string& directory);

}  // namespace eave
