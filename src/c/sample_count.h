// Tells ranks that have unequal numbers of batches what the other ranks do in a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace eave
