// all_finite finds one value that is not finite, at every position and for every length.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "eave/device.h"

namespace eave {
namespace {

TEST(AllFinite, finds_each_kind_of_value_that_is_not_at_any_place) {
  using Limits = std::numeric_limits<float>;
  for (const std::size_t size : {1, 3, 4095, 4096, 4097, 10000}) {
    std::vector<float> values(size, Limits::lowest());
    values[size / 2] = Limits::max();
    values[size / 3] = Limits::denorm_min();
    EXPECT_TRUE(cpu_device().all_finite(values)->get()) << size;
    for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::signaling_NaN()}) {
      for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
        std::vector<float> spoilt = values;
        spoilt[at] = bad;
        EXPECT_FALSE(cpu_device().all_finite(spoilt)->get()) << bad << " at " << at << " of " << size;
      }
    }
  }
  EXPECT_TRUE(cpu_device().all_finite({})->get());
}

}  // namespace
}  // namespace eave
