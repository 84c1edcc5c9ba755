// The gradient averaging of `allreduce`, for methods that begin with it (local-sgd --post-local-at).
#pragma once

#include <cstdint>
#include <memory>

#include "eave/communicator.h"
#include "transport/codecs/codec.h"

namespace eave {

enum class GradientReduction { kWeighted, kMean, kSum };

// The settings of gradient averaging; methods/allreduce.cpp has the formulas.
struct GradientAveraging {
  std::int64_t bucket_bytes = 0;  // 0: chosen from the number of gradients
  GradientReduction reduction = GradientReduction::kWeighted;
  // A rank's loss is the sum over its samples; false: their mean.
  bool loss_is_summed = false;
  std::shared_ptr<const Codec> codec = nullptr;  // nullptr: gradients are not compressed
  int micro_batches = 0;  // per step, of all ranks together, summed in pairs; 0: each rank computes its batch at once
  bool syncs_batch_norm = false;  // batch norm computes its moments over the batches of all ranks
};

// Makes the communicator `allreduce`. `transport` must outlive it.
std::unique_ptr<Communicator> make_gradient_averaging(Transport& transport, const GradientAveraging& settings);

// --bucket-bytes, in bytes; 0 if it is not given. bucket_bytes_in throws Error(kUsage) if the value is below 4096.
OptionSpec bucket_bytes_option();
std::int64_t bucket_bytes_in(const OptionValues& values);

}  // namespace eave
