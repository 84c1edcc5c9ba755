// The samples of all ranks in a step: counts them if ranks have unequal numbers of batches, and checks that those which
// ranks were told add up, because they are the weights in means over the ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eave/communicator.h"
#include "eave/transport.h"

namespace eave {

// One small sum per step.
class SampleCount {
 public:
  static constexpr std::int64_t kMost = std::int64_t{1} << 48;  // samples of all ranks
  struct Result {
    std::int64_t samples = 0;  // of all ranks
    bool any_leaves = false;
  };

  explicit SampleCount(Transport& transport) : transport_(transport) {}

  // Collective, with equally many numbers on each rank. `samples`: 0 if this rank's data has ended. `leaves`: this rank
  // was asked to leave the job. `numbers`: the same on all ranks with samples; bit patterns travel. Only one count may
  // be under way.
  void start(std::int64_t samples, bool leaves, std::span<const double> numbers);
  // Blocks until all ranks have started this count. If any rank has samples, `numbers` become those of the ranks with
  // samples.
  Result wait(std::span<double> numbers);
  Result wait() { return wait({}); }
  bool is_under_way() const { return is_under_way_; }

 private:
  Transport& transport_;
  std::vector<float> values_;
  Pending pending_;
  bool is_under_way_ = false;
};

// All ranks find the same sum of samples/samples_everywhere. Throws AgreedError(kUsage) unless it is 1, or 0: a step
// may have samples on no rank.
void refuse_shares(double sum);

// This rank's share of the samples in the steps since the last check.
class SampleShares {
 public:
  void count(const Step& step);
  // Collective: one small sum. Throws as refuse_shares does, on all ranks, and begins to count anew.
  void check(Transport& transport);
  double seconds_waiting() const { return seconds_; }  // for other ranks, in all checks

 private:
  std::int64_t samples_ = 0, samples_everywhere_ = 0;
  double seconds_ = 0;
  float sum_ = 0;  // outlives check(), which may throw while its sum is under way
};

}  // namespace eave
