// Products of matrices on the CPU, against sums in float32 that are added up one after the other: the same bits.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "eave/check.h"
#include "eave/device.h"
#include "eave/random.h"

namespace eave {
namespace {

std::vector<float> numbers(std::int64_t count, std::uint64_t stream) {
  RandomStream random({.seed = 3, .purpose = Purpose::kTest}, stream);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = random.normal();
  return values;
}

std::vector<float> multiplied(const MatrixProduct& p, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> c;
  for (std::int64_t i = 0; i < p.rows; ++i) {
    for (std::int64_t j = 0; j < p.columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < p.inner; ++k) {
        sum += a[static_cast<std::size_t>(p.a_is_transposed ? k * p.rows + i : i * p.inner + k)] *
               b[static_cast<std::size_t>(p.b_is_transposed ? j * p.inner + k : k * p.columns + j)];
      }
      c.push_back(sum);
    }
  }
  return c;
}

// Sizes below, at and above those of tiles and of parts of the sum.
TEST(ExactProduct, adds_up_in_the_order_of_the_inner_dimension) {
  for (const auto& [rows, columns, inner] : std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
           {1, 1, 1}, {6, 16, 256}, {7, 17, 257}, {13, 40, 600}, {5, 15, 512}, {12, 64, 255}}) {
    for (const auto& [a_is_transposed, b_is_transposed] :
         std::vector<std::pair<bool, bool>>{{false, false}, {true, false}, {false, true}, {true, true}}) {
      const MatrixProduct product{rows, columns, inner, a_is_transposed, b_is_transposed};
      const std::vector<float> a = numbers(rows * inner, 1), b = numbers(inner * columns, 2);
      std::vector<float> c(static_cast<std::size_t>(rows * columns), 99);
      cpu_device().multiply(product, a, b, c);
      EXPECT_EQ(c, multiplied(product, a, b))
          << rows << " x " << columns << " x " << inner << ", transposed " << a_is_transposed << " " << b_is_transposed;
    }
  }
}

// Half of such a product is computed. Sizes are those of whole tiles, less and more.
TEST(ExactProduct, of_a_matrix_and_its_transpose_has_the_same_bits) {
  for (const auto& [side, inner] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 3}, {5, 257}, {16, 256}, {17, 40}, {48, 7}, {53, 600}, {70, 258}}) {
    const std::vector<float> a = numbers(side * inner, 1);
    for (const bool is_turned : {false, true}) {
      const MatrixProduct product{side, side, inner, is_turned, !is_turned};
      std::vector<float> c(static_cast<std::size_t>(side * side), 99);
      cpu_device().multiply(product, a, a, c);
      EXPECT_EQ(c, multiplied(product, a, a)) << side << " x " << inner << ", turned " << is_turned;
    }
  }
}

TEST(ExactProduct, refuses_matrices_of_other_sizes) {
  std::vector<float> six(6), four(4);
  EXPECT_THROW(cpu_device().multiply({2, 2, 3}, six, four, four), Error);
  EXPECT_THROW(cpu_device().multiply({2, 2, 3}, six, six, six), Error);
}

}  // namespace
}  // namespace eave
