// Numbers whose sum shows in its last bits in which order they were added up.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "eave/random.h"
#include "transport/core/transport_base.h"

namespace eave {

// The numbers of a rank: the same on every machine, with magnitudes so different that the order of summation changes
// the last bits of a sum.
inline std::vector<float> uneven_numbers(int rank, std::size_t count) {
  std::vector<float> values(count);
  RandomStream random({.seed = 7}, static_cast<std::uint64_t>(rank));
  for (float& value : values) value = random.normal() * std::exp2(static_cast<float>(random.below(16)));
  return values;
}

inline std::vector<float> sum_in_order(const std::vector<int>& ranks, std::size_t count) {
  std::vector<float> sum = uneven_numbers(ranks.front(), count);
  for (std::size_t k = 1; k < ranks.size(); ++k) {
    const std::vector<float> other = uneven_numbers(ranks[k], count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += other[i];
  }
  return sum;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) { return std::bit_cast<int>(x) == std::bit_cast<int>(y); });
}

}  // namespace eave
