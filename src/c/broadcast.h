#pragma once

#include <cstddef>

#include "eave/transport.h"

namespace eave {

// Collective: rank 0's bytes go to all, in pieces of some MiB. As many on each rank.
void broadcast_bytes(Transport& transport, char* bytes, std::size_t count);

}  // namespace eave
