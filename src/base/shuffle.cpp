#include "base/shuffle.h"

#include <numeric>
#include <utility>

namespace eave {

void write_shuffled(std::span<std::int64_t> order, const RandomKey& key, std::uint64_t a) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  RandomStream random(key, a);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(static_cast<std::uint32_t>(left))]);
  }
}

}  // namespace eave
