// The check that every call of NCCL goes through.
#pragma once

#include <nccl.h>

#include <source_location>

#include "eave/check.h"

namespace eave::cuda {

// Describes a failure: the call, its place in the source, and NCCL's text. Its code is kPeerLost for errors of another
// rank or of the network, else kResource.
Error nccl_error(ncclResult_t status, const char* what,
                 const std::source_location& place = std::source_location::current());

// Throws nccl_error unless the call has succeeded or goes on in the background.
void check_nccl(ncclResult_t status, const char* what,
                const std::source_location& place = std::source_location::current());

}  // namespace eave::cuda

#define EAVE_NCCL(call) ::eave::cuda::check_nccl((call), #call)
