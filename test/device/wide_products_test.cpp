// Matrix products by the kernels of every instruction set that this CPU runs. Operands are small integers, so results
// are exact in any order of summation.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/wide/wide_kernels.h"

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

// A product with its operands. Each stride is larger than the row it holds.
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

  Case(const Case&) = delete;  // p points into the vectors

  // Puts numbers into c, to which the product is to be added.
  void add_to_numbers() {
    p.accumulate = true;
    before = small_numbers(std::ssize(c), 4);
    for (std::int64_t i = 0; i < std::ssize(c); ++i) {
      if (i % p.c_stride < p.columns) c[static_cast<std::size_t>(i)] = before[static_cast<std::size_t>(i)];
    }
  }

  // What a row of c must be, with the numbers behind it that must stay.
  std::vector<float> expected(std::int64_t row) const {
    std::vector<float> sums(static_cast<std::size_t>(p.c_stride), kUntouched);
    for (std::int64_t column = 0; column < p.columns; ++column) {
      float& sum = sums[static_cast<std::size_t>(column)];
      sum = p.bias == nullptr ? 0 : p.bias[column];
      if (p.accumulate) sum += before[static_cast<std::size_t>(row * p.c_stride + column)];
    }
    for (std::int64_t k = 0; k < p.depth; ++k) {
      const float value = p.a[p.a_transposed ? k * p.a_stride + row : row * p.a_stride + k];
      const float* const from = p.b + k * (p.b_transposed ? 1 : p.b_stride);
      const std::int64_t step = p.b_transposed ? p.b_stride : 1;
      for (std::int64_t column = 0; column < p.columns; ++column)
        sums[static_cast<std::size_t>(column)] += value * from[column * step];
    }
    for (std::int64_t column = 0; p.relu && column < p.columns; ++column) {
      float& sum = sums[static_cast<std::size_t>(column)];
      sum = std::max(sum, 0.f);
    }
    return sums;
  }

  std::string name() const {
    return std::to_string(p.rows) + " x " + std::to_string(p.columns) + " x " + std::to_string(p.depth) +
           (p.a_transposed ? " a transposed" : "") + (p.b_transposed ? " b transposed" : "") +
           (p.relu ? " bias and relu" : "") + (p.accumulate ? " added" : "");
  }

  Product p;
  std::vector<float> a, b, bias, c, before;
};

void check(const WideKernels& kernels, const Case& product) {
  const auto size = static_cast<std::size_t>(kernels.multiply_scratch(product.p));
  std::vector<float> scratch(size + 1, std::numeric_limits<float>::quiet_NaN());
  scratch.back() = kUntouched;
  kernels.multiply(product.p, scratch.data());
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < product.p.rows; ++row) {
    const std::vector<float> expected = product.expected(row);
    const float* const got = product.p.c + row * product.p.c_stride;
    for (std::int64_t column = 0; column < product.p.c_stride; ++column)
      wrong += got[column] != expected[static_cast<std::size_t>(column)];
  }
  EXPECT_EQ(wrong, 0) << kernels.name << ": " << product.name();
  EXPECT_EQ(scratch.back(), kUntouched) << kernels.name << " writes beyond its scratch: " << product.name();
}

void check_layouts(const WideKernels& kernels, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      for (const bool finish : {false, true}) {
        const Case product(rows, columns, depth, a_transposed, b_transposed, finish);
        check(kernels, product);
        if (finish) continue;
        Case adding(rows, columns, depth, a_transposed, b_transposed, finish);
        adding.add_to_numbers();
        check(kernels, adding);
      }
    }
  }
}

// The kernels that eave chooses from, and the matrix unit alone, which otherwise gets only large products.
std::vector<const WideKernels*> all_kernels() {
  std::vector<const WideKernels*> all = wide_kernels();
  if (const WideKernels* unit = wide_table_amx_only()) all.push_back(unit);
  return all;
}

TEST(WideProducts, are_exact_at_sizes_around_every_tile) {
  if (all_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : all_kernels()) {
    for (const std::int64_t rows : {1, 2, 5, 6, 7, 13, 14, 15, 29, 64, 65}) {
      for (const std::int64_t columns : {1, 10, 16, 17, 32, 33, 64, 70, 128}) {
        for (const std::int64_t depth : {1, 3, 16, 31}) check_layouts(*kernels, rows, columns, depth);
      }
    }
  }
}

TEST(WideProducts, are_exact_where_the_depth_is_cut) {
  if (all_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : all_kernels()) {
    for (const std::int64_t depth : {127, 128, 255, 256, 257, 600, 1024, 1025, 2100}) {
      check_layouts(*kernels, 67, 10, depth);
      check_layouts(*kernels, 67, 45, depth);
      check_layouts(*kernels, 20, 130, depth);
      check_layouts(*kernels, 67, 64, depth);
      check_layouts(*kernels, 20, 192, depth);
    }
  }
}

TEST(WideProducts, are_exact_where_operands_are_taken_in_parts) {
  if (all_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : all_kernels()) {
    check_layouts(*kernels, 300, 310, 70);
    check_layouts(*kernels, 290, 1100, 140);
    check_layouts(*kernels, 1100, 1060, 40);
    check_layouts(*kernels, 70, 90, 600);
  }
}

// With AVX-512 these are cut into panels of b and parts of a as large products are, also with a transposed.
TEST(WideProducts, are_exact_where_strips_are_packed_in_parts) {
  if (all_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : all_kernels()) {
    check_layouts(*kernels, 67, 832, 250);
    for (const bool b_transposed : {false, true}) {
      check(*kernels, Case(270, 320, 1030, false, b_transposed, true));
      check(*kernels, Case(700, 704, 390, false, b_transposed, false));
      check(*kernels, Case(40, 2065, 400, false, b_transposed, true));
      check(*kernels, Case(50, 1600, 300, true, b_transposed, false));
    }
  }
}

// A large gradient of weights is written past the caches if its rows begin at whole vectors.
TEST(WideProducts, are_exact_where_they_are_written_past_the_caches) {
  if (all_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : all_kernels()) {
    for (const auto& [rows, columns, depth] :
         std::vector<std::array<std::int64_t, 3>>{{1100, 1024, 250}, {1400, 768, 30}, {1300, 848, 20}}) {
      Case product(rows, columns, depth, true, false, false);
      product.p.c_stride = columns + 16;
      std::vector<float> memory(static_cast<std::size_t>(rows * product.p.c_stride + 16), kUntouched);
      const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) / sizeof(float) % 16;
      for (const std::size_t shift : {(16 - past) % 16, (17 - past) % 16}) {
        std::fill(memory.begin(), memory.end(), kUntouched);
        product.p.c = memory.data() + shift;
        check(*kernels, product);
      }
    }
  }
}

// c = a · b, where a and b are 0 except for `a_value` and `b_value` on their diagonals.
struct Lonely {
  Lonely(float a_value, float b_value) : a(80 * 96), b(96 * 80), c(80 * 80) {
    for (std::int64_t i = 0; i < 80; ++i) {
      a[static_cast<std::size_t>(i * 96 + i)] = a_value;
      b[static_cast<std::size_t>(i * 80 + i)] = b_value;
    }
    p = {80, 80, 96, a.data(), 96, false, b.data(), 80, false, c.data(), 80, nullptr, false};
  }
  std::vector<float> multiply(const WideKernels& kernels) {
    std::vector<float> scratch(static_cast<std::size_t>(kernels.multiply_scratch(p)));
    kernels.multiply(p, scratch.data());
    return c;
  }
  Product p;
  std::vector<float> a, b, c;
};

// Each product fits into a float, so it must come out exactly: no kernel may drop bits of an operand.
TEST(WideProducts, keep_all_bits_of_both_operands) {
  if (all_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  std::mt19937 random(1);
  for (const WideKernels* kernels : all_kernels()) {
    for (int trial = 0; trial < 200; ++trial) {
      const auto bits = [&](int count) {
        return std::ldexp(static_cast<float>(random() >> (32 - count) | 1u), -static_cast<int>(random() % 40));
      };
      const int of_a = 1 + static_cast<int>(random() % 23);
      const float a = -bits(of_a), b = bits(24 - of_a);
      const std::vector<float> c = Lonely(a, b).multiply(*kernels);
      ASSERT_EQ(c[0], a * b) << kernels->name << ": " << a << " * " << b;
      ASSERT_EQ(c[81], a * b);
      ASSERT_EQ(c[1], 0);
    }
  }
}

TEST(WideProducts, are_as_near_as_floats_come) {
  if (all_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (const WideKernels* kernels : all_kernels()) {
    Case of(70, 130, 900, false, false, false);
    for (float& value : of.a) value = normal(random);
    for (float& value : of.b) value = normal(random);
    std::vector<float> scratch(static_cast<std::size_t>(kernels->multiply_scratch(of.p)));
    kernels->multiply(of.p, scratch.data());
    double worst = 0;
    for (std::int64_t i = 0; i < of.p.rows; ++i) {
      for (std::int64_t j = 0; j < of.p.columns; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t k = 0; k < of.p.depth; ++k) {
          const double term = static_cast<double>(of.p.a[i * of.p.a_stride + k]) * of.p.b[k * of.p.b_stride + j];
          sum += term;
          size += std::abs(term);
        }
        worst = std::max(worst, std::abs(of.p.c[i * of.p.c_stride + j] - sum) / size);
      }
    }
    // `worst` is relative to the sum of magnitudes. It is at most 900 roundings of 2^-24; as their signs are random,
    // they mostly cancel, and 8 are enough.
    EXPECT_LT(worst, 8 * std::ldexp(1.0, -24)) << kernels->name;
  }
}

TEST(WideProducts, hide_no_value_that_is_not_finite) {
  if (all_kernels().empty()) GTEST_SKIP() << "this CPU or compiler has no wide kernels";
  for (const WideKernels* kernels : all_kernels()) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Lonely of(bad, 2);
      EXPECT_FALSE(std::isfinite(of.multiply(*kernels)[81])) << kernels->name << ": " << bad;
      of.p.relu = true;
      EXPECT_FALSE(std::isfinite(of.multiply(*kernels)[81])) << kernels->name << ": " << bad << " and relu";
    }
  }
}

}  // namespace
}  // namespace eave::cpu
