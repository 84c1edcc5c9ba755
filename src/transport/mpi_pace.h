// How sums and requests are cut, by how fast links are.
#pragma once

#include <cstddef>
#include <functional>

#include "eave/slice.h"
#include "transport/mpi_messages.h"

namespace eave {

struct MpiPace {
  std::size_t part;             // values of a message
  std::size_t in_flight_bytes;  // of all ranks' parts under way, where a segment of them is not more
  std::size_t request;          // values of a request, at most
};

MpiPace long_pace();
MpiPace short_pace();  // for slow links

// All ranks call it, with `sum` adding up values over all of them by messages at short_pace(), whatever the hosts:
// where there are several they time some sums of 128 KiB, and agree on what suits the slowest rank. More than 256 ranks
// take long_pace(): parts of so few values tell of messages, not of links. Some 50 ms at 100 Mbit/s.
MpiPace agree_on_pace(MpiMessages& messages, int hosts, const std::function<void(Slice)>& sum);

}  // namespace eave
