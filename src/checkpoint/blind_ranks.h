// Blind ranks: ranks on hosts that do not see the directory of the checkpoints. Rank 0 reads and writes their files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace eave {

// `blind` is ascending and does not contain rank 0.
inline bool is_blind(const std::vector<int>& blind, int rank) { return std::ranges::binary_search(blind, rank); }

// Bytes of one blind rank's file that travel in one round. The parts of all blind ranks travel together, and are in
// rank 0's memory together. They have at most 16 MiB, or 64 KiB per blind rank if that is more.
inline std::size_t bytes_at_a_time(const std::vector<int>& blind) {
  constexpr std::size_t kOfAll = std::size_t{16} << 20, kLeast = std::size_t{64} << 10;
  return std::max(kLeast, kOfAll / std::max<std::size_t>(1, blind.size()));
}

}  // namespace eave
