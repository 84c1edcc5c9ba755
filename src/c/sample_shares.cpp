#include "c/sample_shares.h"

#include <cmath>

#include "base/options/number_text.h"
#include "eave/agreement.h"

namespace eave {

// Sums of floats are off by far less than the bound.
void refuse_shares(double sum) {
  if (sum == 0 || std::abs(sum - 1) < 1e-4) return;
  throw AgreedError(ExitCode::kUsage, "begin_step: samples/samples_everywhere of all ranks add up to " +
                                          number_text(sum) +
                                          ", not to 1: give all ranks the same samples_everywhere, the sum of "
                                          "their samples");
}

void SampleShares::count(const Step& step) {
  samples_ += step.samples;
  samples_everywhere_ += step.samples_everywhere;
}

void SampleShares::check(Transport& transport) {
  const auto samples = static_cast<double>(samples_), all = static_cast<double>(samples_everywhere_);
  samples_ = samples_everywhere_ = 0;
  sum_ = static_cast<float>(all > 0 ? samples / all : 0);
  transport.all_reduce_sum({&sum_, 1}).wait();
  refuse_shares(sum_);
}

}  // namespace eave
