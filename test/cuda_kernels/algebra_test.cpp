// Passes over flat vectors: each gives the CPU's bits, for any length and alignment.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kernels/cuda/flat.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

// No element, less than a packet, a packet, several blocks, with and without a remainder.
const std::vector<std::size_t> kSizes = {0, 1, 3, 4, 5, 1023, 1024, 2051, 10007};

// The vectors that a pass works on, all on the device or all on the CPU.
using Slices = std::vector<Slice>;

// Runs the pass on both: with all vectors aligned, with all offset by one element, and with a different offset each.
void expect_equal_passes(std::size_t vectors, const std::function<void(cudaStream_t, Slices)>& device_pass,
                         const std::function<void(Slices)>& cpu_pass) {
  const TestStream stream;
  for (const std::size_t size : kSizes) {
    for (const int offsets : {0, 1, 2}) {
      SCOPED_TRACE(std::to_string(size) + " elements, offsets " + std::to_string(offsets));
      std::vector<std::vector<float>> cpu;
      std::vector<std::unique_ptr<OnDevice<float>>> device;
      Slices cpu_slices, device_slices;
      for (std::size_t i = 0; i < vectors; ++i) {
        cpu.push_back(some_numbers(size, static_cast<std::uint32_t>(i)));
        device.push_back(std::make_unique<OnDevice<float>>(stream, cpu.back(), offsets == 2 ? i : offsets));
        device_slices.push_back(*device.back());
      }
      for (auto& values : cpu) cpu_slices.push_back(values);
      device_pass(stream, device_slices);
      cpu_pass(cpu_slices);
      for (std::size_t i = 0; i < vectors; ++i) {
        SCOPED_TRACE("vector " + std::to_string(i));
        expect_same_bits(device[i]->read(), cpu[i]);
      }
    }
  }
}

TEST(CudaFlat, fills_scales_and_adds_with_the_bits_of_the_cpu) {
  expect_equal_passes(
      1, [](cudaStream_t stream, Slices s) { fill(stream, s[0], 0.3f); },
      [](Slices s) { std::ranges::fill(s[0], 0.3f); });
  expect_equal_passes(
      1, [](cudaStream_t stream, Slices s) { scale(stream, s[0], 0.3f); },
      [](Slices s) { std::ranges::for_each(s[0], [](float& value) { value *= 0.3f; }); });
  expect_equal_passes(
      2, [](cudaStream_t stream, Slices s) { add_scaled(stream, s[0], 0.3f, s[1]); },
      [](Slices s) {
        for (std::size_t i = 0; i < s[0].size(); ++i) {
          volatile float product = 0.3f * s[1][i];  // volatile: rounded, so the compiler cannot fuse it
          s[0][i] += product;
        }
      });
}

TEST(CudaFlat, casts_to_and_from_bfloat16) {
  const TestStream stream;
  for (const std::size_t offset : {0u, 3u}) {
    std::vector<float> values = some_numbers(1031, 1);
    values[7] = std::numeric_limits<float>::infinity();
    values[8] = 1.00390625f;  // halfway between two bfloat16: rounds to the even one
    OnDevice<float> from(stream, values, offset), back(stream, values.size(), 0);
    OnDevice<Half> half(stream, values.size(), offset);
    cast(stream, from, half.data());
    expect_rounded(half.read(), values);
    cast(stream, half.data(), back);
    expect_same_bits(back.read(), to_floats(half.read()));
  }
}

struct Sums {
  double norm, distance, not_finite;
};

Sums sums_of(const TestStream& stream, const std::vector<float>& a, const std::vector<float>& b, std::size_t offset) {
  OnDevice<float> first(stream, a, offset), second(stream, b, 0);
  OnDevice<double> scratch(stream, std::size_t{kSumScratch}), results(stream, 3);
  norm(stream, first, scratch.data(), results.data());
  distance(stream, first, second, scratch.data(), results.data() + 1);
  count_not_finite(stream, first, scratch.data(), results.data() + 2);
  const auto values = results.read();
  return {values[0], values[1], values[2]};
}

TEST(CudaFlat, sums_in_double_and_in_one_order) {
  const TestStream stream;
  for (const std::size_t size : {0u, 1u, 1000u, 5000u, 100003u}) {
    const auto a = some_numbers(size, 1), b = some_numbers(size, 2);
    double norm = 0, distance = 0;
    for (std::size_t i = 0; i < size; ++i) {
      norm += double{a[i]} * a[i];
      distance += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    }
    const Sums sums = sums_of(stream, a, b, 0), again = sums_of(stream, a, b, 1);
    // The tolerance covers the rounding of this many sums in double.
    EXPECT_NEAR(sums.norm, std::sqrt(norm), 1e-12 * std::sqrt(norm));
    EXPECT_NEAR(sums.distance, std::sqrt(distance), 1e-12 * std::sqrt(distance));
    EXPECT_EQ(sums.norm, again.norm);
    EXPECT_EQ(sums.distance, again.distance);
    EXPECT_EQ(sums.not_finite, 0);
  }
}

TEST(CudaFlat, finds_what_is_not_finite) {
  const TestStream stream;
  auto values = some_numbers(30000, 1);
  values.front() = std::numeric_limits<float>::quiet_NaN();
  values[12345] = std::numeric_limits<float>::infinity();
  values.back() = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(sums_of(stream, values, values, 0).not_finite, 3);
}

}  // namespace
}  // namespace eave::cuda
