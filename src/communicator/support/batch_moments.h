// --batch-norm sync: batch norm measures its moments over the batches of all ranks.
#pragma once

#include <string>
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

  ConstSlice gather(ConstSlice mine) override;
  void sum(Slice values) override { seconds_waiting_ += transport_.all_reduce_sum(values).wait(); }

 private:
  Transport& transport_;
  double& seconds_waiting_;
  std::vector<float> all_;
};

OptionSpec batch_norm_option();
// Whether --batch-norm is sync.
bool syncs_batch_norm(const OptionValues& values);

}  // namespace eave
