// --batch-norm sync: batch norm measures its moments over the batches of all ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "eave/communicator.h"
#include "eave/compute.h"

namespace eave {

// Exchanges moments by sums for which all ranks wait. A batch norm with C channels sums p (2 C + 1) floats in its
// forward pass and 2 C in its backward pass. The sums queue behind the gradients that are already in flight.
class BatchMoments final : public MomentExchange {
 public:
  // `transport` must outlive this object. Each call adds the seconds of waiting for other ranks to `seconds_waiting`.
  BatchMoments(Transport& transport, double& seconds_waiting)
      : transport_(transport), seconds_waiting_(seconds_waiting) {}

  // Each rank has its own place in the sum. The other ranks add zeros there, so nothing is rounded.
  ConstSlice gather(ConstSlice mine) override {
    all_.assign(mine.size() * static_cast<std::size_t>(transport_.size()), 0);
    std::ranges::copy(mine, all_.begin() + static_cast<std::ptrdiff_t>(mine.size()) * transport_.rank());
    sum(all_);
    return all_;
  }

  void sum(Slice values) override { seconds_waiting_ += transport_.all_reduce_sum(values).wait(); }

 private:
  Transport& transport_;
  double& seconds_waiting_;
  std::vector<float> all_;
};

inline OptionSpec batch_norm_option() {
  return {"batch-norm",
          OptionType::kText,
          "per-rank",
          "per-rank: normalise by the mean and variance of each rank's own batch; sync: by those over the batches of "
          "all ranks, for which ranks wait twice per layer and step (CPU only)",
          {"per-rank", "sync"}};
}

// Whether --batch-norm is sync.
inline bool syncs_batch_norm(const OptionValues& values) { return values.text("batch-norm") == "sync"; }

}  // namespace eave
