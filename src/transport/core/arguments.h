// Checks of what the callers of a Transport must keep to. Each throws Error(kInternal).
#pragma once

#include <span>

#include "eave/transport.h"

namespace eave {

// Throws unless `ranks` is empty, or ascends within 0 … size − 1 and contains `rank`.
void check_group(std::span<const int> ranks, int rank, int size);

// Throws unless the residual has as many values as the slice.
void check_compression(const Compression& compression, ConstSlice values);

// Throws unless every owner is one of `size` ranks.
void check_owners(std::span<const ServiceRequest> requests, int size);

}  // namespace eave
