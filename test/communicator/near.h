// What ran in float beside what a simulator in double says.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "problem.h"

namespace eave {

// Float against double at values of order 1: what is simulated contracts, so roundings do not pile up.
inline void expect_near(const std::vector<float>& actual, const Doubles& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) ASSERT_NEAR(actual[k], expected[k], tolerance) << k;
}

}  // namespace eave
