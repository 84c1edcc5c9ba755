// Ranks on hosts that do not see the directory of the checkpoints: what is theirs goes through rank 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace eave {

// `blind`: ascending, without rank 0.
inline bool is_blind(const std::vector<int>& blind, int rank) { return std::ranges::binary_search(blind, rank); }

// Of one rank's file that go at a time: those of all blind ranks go together, and are in rank 0's memory together.
inline std::size_t bytes_at_a_time(const std::vector<int>& blind) {
  constexpr std::size_t kOfAll = std::size_t{16} << 20, kLeast = std::size_t{64} << 10;
  return std::max(kLeast, kOfAll / std::max<std::size_t>(1, blind.size()));
}

}  // namespace eave
