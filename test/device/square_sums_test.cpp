// Sums of squares against the same sums in the order that the code promises: 16 lanes, whatever the instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/cpu/vector_passes.h"

namespace eave {
namespace {

std::vector<float> sample_values(std::size_t count, double phase) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] =
        static_cast<float>(std::sin(phase + static_cast<double>(i)) * std::pow(10.0, static_cast<double>(i % 7)));
  return values;
}

double sum_in_lanes(const std::vector<double>& values) {
  const std::size_t whole = values.size() / 16 * 16;
  std::vector<double> lanes(16, 0);
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) (i < whole ? lanes[i % 16] : total) += values[i] * values[i];
  for (const double lane : lanes) total += lane;
  return total;
}

TEST(SquareSums, have_the_same_order_on_all_instruction_sets) {
  for (const std::size_t count : {0, 1, 15, 16, 17, 48, 1000, 4099}) {
    const std::vector<float> a = sample_values(count, 0.5), b = sample_values(count, 1.7);
    std::vector<double> own, differences;
    for (std::size_t i = 0; i < count; ++i) {
      own.push_back(a[i]);
      differences.push_back(double{a[i]} - double{b[i]});
    }
    EXPECT_EQ(cpu::sum_of_squares(a.data(), count), sum_in_lanes(own)) << count;
    EXPECT_EQ(cpu::sum_of_squared_differences(a.data(), b.data(), count), sum_in_lanes(differences)) << count;
  }
}

TEST(SquareSums, are_not_finite_if_a_value_is_not) {
  std::vector<float> values(40, 1);
  for (const std::size_t at : {0, 20, 39}) {
    std::vector<float> other = values;
    other[at] = std::nanf("");
    EXPECT_TRUE(std::isnan(cpu::sum_of_squares(other.data(), other.size())));
    EXPECT_TRUE(std::isnan(cpu::sum_of_squared_differences(values.data(), other.data(), other.size())));
    other[at] = HUGE_VALF;
    EXPECT_EQ(cpu::sum_of_squares(other.data(), other.size()), HUGE_VAL);
  }
}

}  // namespace
}  // namespace eave
