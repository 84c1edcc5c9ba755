// Gradient averaging, for methods that begin with it.
#pragma once

#include <cstdint>
#include <memory>

#include "eave/communicator.h"
#include "transport/codec.h"

namespace eave {

enum class GradientReduction { kWeighted, kMean, kSum };

// `loss_is_summed`: a rank's loss is the sum over its samples, not their mean.
struct GradientAveraging {
  std::int64_t bucket_bytes = 0;  // 0: chosen by the number of gradients
  GradientReduction reduction = GradientReduction::kWeighted;
  bool loss_is_summed = false;
  std::shared_ptr<const Codec> codec = nullptr;  // nullptr: gradients travel as they are
  int micro_batches = 0;                         // of a step, summed in pairs; 0: each rank's batch at once
  bool syncs_batch_norm = false;                 // over the batches of all ranks
};

std::unique_ptr<Communicator> make_gradient_averaging(Transport& transport, const GradientAveraging& settings);

// --bucket-bytes; 0 where it is not given. Throws Error(kUsage) where they are too few.
OptionSpec bucket_bytes_option();
std::int64_t bucket_bytes_in(const OptionValues& values);

}  // namespace eave
