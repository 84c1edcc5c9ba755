// --batch-norm: what batch norm measures, over the batches of all ranks.
#pragma once

#include <string>
#include <vector>

#include "eave/communicator.h"
#include "eave/compute.h"

namespace eave {

// By sums that wait for all ranks: one of p (2 C + 1) floats in the forward pass of a batch norm of C channels, one of
// 2 C in its backward. They are carried out behind what gradients are in flight already.
class BatchMoments final : public MomentExchange {
 public:
  // `transport` outlives it. `seconds_waiting` grows by the time that ranks are waited for.
  BatchMoments(Transport& transport, double& seconds_waiting)
      : transport_(transport), seconds_waiting_(seconds_waiting) {}

  ConstSlice gather(ConstSlice mine) override;
  void sum(Slice values) override { seconds_waiting_ += transport_.all_reduce_sum(values).wait(); }

 private:
  Transport& transport_;
  double& seconds_waiting_;
  std::vector<float> all_;
};

OptionSpec batch_norm_option();
// Whether it is sync.
bool syncs_batch_norm(const OptionValues& values);

}  // namespace eave
