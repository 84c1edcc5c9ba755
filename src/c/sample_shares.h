// Checks that the samples that ranks were told add up, because they are the weights in means over the ranks.
#pragma once

#include <cstdint>

#include "eave/communicator.h"

namespace eave {

// All ranks find the same sum of samples/samples_everywhere. Throws AgreedError(kUsage) unless it is 1, or 0: a step
// may have samples on no rank.
void refuse_shares(double sum);

// This rank's share of the samples in the steps since the last check.
class SampleShares {
 public:
  void count(const Step& step);
  // Collective: one small sum. Throws as refuse_shares does, on all ranks, and begins to count anew.
  void check(Transport& transport);

 private:
  std::int64_t samples_ = 0, samples_everywhere_ = 0;
  float sum_ = 0;  // outlives check(), which may throw while its sum is under way
};

}  // namespace eave
