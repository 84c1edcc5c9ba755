// Which ranks see a directory of rank 0's, and not one of their own that has the same name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eave/transport.h"

namespace eave {

// 16 letters that no other job has.
std::string make_token();
// Waits for it for some seconds: a network file system may show it late.
bool appears(const std::filesystem::path& file);

// Collective, the same on all ranks: those that do not see what rank 0 has in `directory`, ascending; none where rank 0
// has no such directory. A rank that sees it late may be among them.
std::vector<int> find_blind_ranks(Transport& transport, const std::filesystem::path& directory);

// "2 of 4 ranks do not see --run-dir DIR on rank 0's host a, first rank 2 on b"; `hosts` of all ranks, in their order.
std::string describe_blind_ranks(const std::vector<int>& blind, const std::vector<std::string>& hosts,
                                 const std::string& directory);

}  // namespace eave
