// Compares results in float with those of a simulator in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "problem.h"

namespace eave {

// The default tolerance suits values of order 1. The simulated trainings contract, so rounding errors of float do not
// accumulate.
inline void expect_near(const std::vector<float>& actual, const Doubles& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) ASSERT_NEAR(actual[k], expected[k], tolerance) << k;
}

// Expects that any two vectors differ by more than `distance` in some element. Then a comparison with a tolerance far
// below `distance` tells them apart.
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
