// The order in which samples come.
#pragma once

#include <cstdint>
#include <span>

#include "eave/random.h"

namespace eave {

// Writes 0, 1, … order.size() - 1 in the order of a Fisher-Yates shuffle by the stream of (key, a). At most 2^31 - 1
// numbers.
void write_shuffled(std::span<std::int64_t> order, const RandomKey& key, std::uint64_t a);

}  // namespace eave
