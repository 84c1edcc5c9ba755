// The products of every instruction set that this CPU runs. Operands are small whole numbers: whatever the order of
// summation, results are exact.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/wide_kernels.h"

namespace eave::cpu {
namespace {

constexpr float kUntouched = 1e9f;

std::vector<float> small_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(seed >> 29) - 3);
  }
  return values;
}

// A product with operands of its own. Lines are longer than they need be.
struct Case {
  Case(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool a_transposed, bool b_transposed, bool finish)
      : p{rows, columns, depth} {
    p.a_transposed = a_transposed;
    p.b_transposed = b_transposed;
    p.a_stride = (a_transposed ? rows : depth) + 1;
    p.b_stride = (b_transposed ? depth : columns) + 2;
    p.c_stride = columns + 3;
    a = small_numbers((a_transposed ? depth : rows) * p.a_stride, 1);
    b = small_numbers((b_transposed ? columns : depth) * p.b_stride, 2);
    bias = small_numbers(columns, 3);
    c.assign(static_cast<std::size_t>(rows * p.c_stride), kUntouched);
    p.a = a.data();
    p.b = b.data();
    p.c = c.data();
    p.bias = finish ? bias.data() : nullptr;
    p.relu = finish;
  }

  float expected(std::int64_t row, std::int64_t column) const {
    if (column >= p.columns) return kUntouched;
    float sum = p.bias == nullptr ? 0 : p.bias[column];
    for (std::int64_t k = 0; k < p.depth; ++k) {
      sum += p.a[p.a_transposed ? k * p.a_stride + row : row * p.a_stride + k] *
             p.b[p.b_transposed ? column * p.b_stride + k : k * p.b_stride + column];
    }
    return p.relu && sum < 0 ? 0 : sum;
  }

  std::string name() const {
    return std::to_string(p.rows) + " x " + std::to_string(p.columns) + " x " + std::to_string(p.depth) +
           (p.a_transposed ? " a transposed" : "") + (p.b_transposed ? " b transposed" : "") +
           (p.relu ? " bias and relu" : "");
  }

  Product p;
  std::vector<float> a, b, bias, c;
};

void check(const WideKernels& kernels, Case product) {
  const auto size = static_cast<std::size_t>(kernels.multiply_scratch(product.p));
  std::vector<float> scratch(size + 1, std::numeric_limits<float>::quiet_NaN());
  scratch.back() = kUntouched;
  kernels.multiply(product.p, scratch.data());
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < std::ssize(product.c); ++i) {
    const std::int64_t row = i / product.p.c_stride, column = i % product.p.c_stride;
    wrong += product.c[static_cast<std::size_t>(i)] != product.expected(row, column);
  }
  EXPECT_EQ(wrong, 0) << kernels.name << ": " << product.name();
  EXPECT_EQ(scratch.back(), kUntouched) << kernels.name << " writes beyond its scratch: " << product.name();
}

void check_layouts(const WideKernels& kernels, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      for (const bool finish : {false, true}) {
        check(kernels, Case(rows, columns, depth, a_transposed, b_transposed, finish));
      }
    }
  }
}

TEST(WideProducts, are_exact_at_sizes_around_every_tile) {
  if (wide_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : wide_kernels()) {
    for (const std::int64_t rows : {1, 2, 5, 6, 7, 13, 14, 15, 29, 64, 65}) {
      for (const std::int64_t columns : {1, 10, 16, 17, 32, 33, 70}) {
        for (const std::int64_t depth : {1, 3, 16, 31}) check_layouts(*kernels, rows, columns, depth);
      }
    }
  }
}

TEST(WideProducts, are_exact_where_the_depth_is_cut) {
  if (wide_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : wide_kernels()) {
    for (const std::int64_t depth : {127, 128, 129, 300, 1024, 1025, 2100}) {
      check_layouts(*kernels, 67, 10, depth);
      check_layouts(*kernels, 67, 45, depth);
      check_layouts(*kernels, 20, 130, depth);
    }
  }
}

}  // namespace
}  // namespace eave::cpu
