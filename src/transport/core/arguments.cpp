#include "transport/core/arguments.h"

#include <algorithm>
#include <functional>
#include <string>

#include "eave/check.h"

namespace eave {

void check_group(std::span<const int> ranks, int rank, int size) {
  if (ranks.empty()) return;
  std::string list;
  for (int each : ranks) list += " " + std::to_string(each);
  EAVE_CHECK(std::ranges::adjacent_find(ranks, std::greater_equal()) == ranks.end(), "a group must ascend:" + list);
  EAVE_CHECK(ranks.front() >= 0 && ranks.back() < size,
             "group" + list + " of a job with ranks 0 to " + std::to_string(size - 1));
  EAVE_CHECK(std::ranges::binary_search(ranks, rank), "rank " + std::to_string(rank) + " is not in its group" + list);
}

void check_compression(const Compression& compression, ConstSlice values) {
  EAVE_CHECK(!compression.codec || compression.residual.size() == values.size(),
             "a residual of " + std::to_string(compression.residual.size()) + " values for a sum of " +
                 std::to_string(values.size()));
}

void check_owners(std::span<const ServiceRequest> requests, int size) {
  for (const ServiceRequest& each : requests)
    EAVE_CHECK(each.owner >= 0 && each.owner < size,
               "request to rank " + std::to_string(each.owner) + " of " + std::to_string(size));
}

}  // namespace eave
