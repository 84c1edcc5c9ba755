// What the caller of a Transport must keep to.
#pragma once

#include <span>

#include "eave/transport.h"

namespace eave {

// Error unless `ranks` is empty, or ascends within 0 … size − 1 with `rank` in it.
void check_group(std::span<const int> ranks, int rank, int size);

// Error unless the residual is as large as the values.
void check_compression(const Compression& compression, ConstSlice values);

// Error unless every owner is one of `size` ranks.
void check_owners(std::span<const ServiceRequest> requests, int size);

}  // namespace eave
