// The transport of an averager whose vectors lie in the memory of GPUs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "c/lent_arrays.h"
#include "c/stderr_message.h"
#include "eave/device.h"
#include "eave/transport.h"

namespace eave {

// The decisions of the job for an averager.
struct AveragerJob {
  bool tries_nccl = false;                                    // as the function of that name says
  std::function<void(const std::string&)> warn = eave::warn;  // rank 0 calls it
  // Called with the calls of the averager's GPU before the first of them, if it may have any.
  std::function<void(std::shared_ptr<const CallRecord>)> watch = [](const auto&) {};
  LentArrays* lent = nullptr;  // outlives the averagers; nullptr: their transport lends, and frees at the job's end
};

// Collective. Returns NCCL in front of `transport`, which outlives it, or nullptr if NCCL is not to be tried. Rank 0
// warns if several ranks use the same GPU: a program in Python or C chooses it, and the first one is the default.
std::unique_ptr<Transport> make_gpu_link(Transport& transport, const Device& gpu, const AveragerJob& job);

}  // namespace eave
