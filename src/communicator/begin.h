// How every method begins.
#pragma once

#include "eave/communicator.h"

namespace eave {

// Collective: leaves all ranks with rank 0's parameters and statistics. Returns the seconds it blocked.
// Throws Error(kConfiguration) on all ranks when their replicas differ in size.
double share_replica(Transport& transport, const ReplicaView& replica);

}  // namespace eave
