#pragma once

#include <cstddef>

#include "eave/transport.h"

namespace eave {

// Collective: copies rank 0's bytes to all ranks, in pieces of 4 MiB. `count` is the same on all ranks.
void broadcast_bytes(Transport& transport, char* bytes, std::size_t count);

}  // namespace eave
