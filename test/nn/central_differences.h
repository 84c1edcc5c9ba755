// Checks gradients against central differences of a loss in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "eave/model.h"

namespace eave {

// `loss` is a function of `point`. The check changes `point` and restores it. `gradients` are those at `point`.
//
// A central difference with step h errs by h²·f'''/6 and by rounding 1e-16/h: 1e-10 and 1e-11 here. If the step crosses
// a kink of relu or max_pool, the difference is meaningless. The one-sided differences then disagree, and the check
// skips that entry. Float gradients err by rounding, 6e-8 times the sums' length and condition. For these sizes a
// tolerance of 2e-5 of the largest entry is ample, and any mistake in a formula exceeds it by far.
inline void expect_central_differences(const std::vector<TensorInfo>& tensors, std::vector<double>& point,
                                       const std::function<double()>& loss, const std::vector<double>& gradients) {
  constexpr double kStep = 1e-5, kTolerance = 2e-5;
  const double here = loss();
  double largest = 0;
  for (const double g : gradients) largest = std::max(largest, std::abs(g));
  ASSERT_GT(largest, 1e-3) << "a case whose gradients vanish shows nothing";
  int compared = 0, skipped = 0;
  for (const TensorInfo& tensor : tensors) {
    for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double original = point[at];
      point[at] = original + kStep;
      const double above = loss();
      point[at] = original - kStep;
      const double below = loss();
      point[at] = original;
      const double right = (above - here) / kStep, left = (here - below) / kStep;
      if (std::abs(right - left) > 1e-3 * largest) {
        ++skipped;
        continue;
      }
      ++compared;
      ASSERT_NEAR(gradients[at], (above - below) / (2 * kStep), kTolerance * largest)
          << tensor.name << "[" << i - tensor.offset << "]";
    }
  }
  EXPECT_GT(compared, 20 * skipped) << "too many kinks: the case shows little";
}

}  // namespace eave
