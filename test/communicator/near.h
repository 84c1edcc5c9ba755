// What ran in float beside what a simulator in double says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "problem.h"

namespace eave {

// Float against double at values of order 1: what is simulated contracts, so roundings do not pile up.
inline void expect_near(const std::vector<float>& actual, const Doubles& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) ASSERT_NEAR(actual[k], expected[k], tolerance) << k;
}

// Each from each other, by more than `distance` in some element: what a tolerance far below it tells apart.
inline void expect_apart(const std::vector<Doubles>& all, double distance) {
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      double largest = 0;
      for (std::size_t k = 0; k < all[a].size(); ++k) largest = std::max(largest, std::abs(all[a][k] - all[b][k]));
      EXPECT_GT(largest, distance) << a << " " << b;
    }
  }
}

}  // namespace eave
