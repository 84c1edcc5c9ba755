// How sums and requests are cut, depending on the speed of links.
#pragma once

#include <cstddef>
#include <functional>

#include "eave/slice.h"
#include "transport/mpi/mpi_messages.h"

namespace eave {

struct MpiPace {
  std::size_t part;  // values per message
  // Segments of twice so many bytes are in flight, but at least 2 and at most MpiWire's 13.
  std::size_t in_flight_bytes;
  std::size_t request;  // most values per request
};

// For links that are not slow, and within a host.
MpiPace long_pace();
MpiPace short_pace();  // for slow links

// Collective. `sum` adds up values over all ranks by messages at short_pace(), whatever the hosts. If there are several
// hosts, the ranks time some sums of 128 KiB and agree on the pace that suits the slowest rank. This takes some 50 ms
// at 100 Mbit/s. More than 256 ranks take long_pace() without a test, because such short parts would measure the cost
// of messages, not the links.
MpiPace agree_on_pace(MpiMessages& messages, int hosts, const std::function<void(Slice)>& sum);

}  // namespace eave
