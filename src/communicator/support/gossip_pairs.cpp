#include "communicator/support/gossip_pairs.h"

#include <algorithm>
#include <numeric>

#include "eave/random.h"

namespace eave {
namespace {

enum Part : std::uint32_t { kPairs = 0, kPauses = 1 };

// The shuffle of Fisher and Yates.
void shuffle(std::vector<int>& ranks, RandomStream random) {
  for (std::size_t i = ranks.size(); i > 1; --i) {
    std::swap(ranks[i - 1], ranks[random.below(static_cast<std::uint32_t>(i))]);
  }
}

std::vector<int> all_ranks(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

int pausing_rank(std::uint64_t seed, std::int64_t round, int ranks) {
  std::vector<int> order = all_ranks(ranks);
  shuffle(order, {{seed, Purpose::kGossip, kPauses}, static_cast<std::uint64_t>(round / ranks)});
  return order[static_cast<std::size_t>(round % ranks)];
}

}  // namespace

std::vector<std::pair<int, int>> gossip_pairs(std::uint64_t seed, std::int64_t round, int ranks) {
  std::vector<int> order = all_ranks(ranks);
  if (ranks % 2 == 1) std::erase(order, pausing_rank(seed, round, ranks));
  shuffle(order, {{seed, Purpose::kGossip, kPairs}, static_cast<std::uint64_t>(round)});
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) pairs.push_back(std::minmax(order[i], order[i + 1]));
  return pairs;
}

}  // namespace eave
