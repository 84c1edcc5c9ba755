// Passes over flat vectors: each gives the CPU's bits, for any length and alignment.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "eave/update_steps.h"
#include "kernels/cpu/center.h"
#include "kernels/cpu/update.h"
#include "kernels/cuda/center.h"
#include "kernels/cuda/flat.h"
#include "kernels/cuda/update.h"
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
        if (i == 3) std::ranges::for_each(cpu.back(), [](float& value) { value = std::abs(value); });
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

const Pull* pull_or_none(const Pull& pull, int kind) { return kind == 0 ? nullptr : &pull; }

TEST(CudaUpdate, sgd_gives_the_bits_of_the_cpu) {
  for (const int momentum : {0, 1, 2}) {
    for (const int elastic : {0, 1, 2}) {
      SCOPED_TRACE("momentum " + std::to_string(momentum) + ", elastic " + std::to_string(elastic));
      const SgdStep step = {0.7f, 0.03f, 0.9f, 5e-4f, momentum == 2};
      const auto pull = [&](Slices s) { return Pull{s[3], 0.13f, s[4], elastic == 2}; };
      const auto velocity = [&](Slices s) { return momentum == 0 ? Slice() : s[2]; };
      expect_equal_passes(
          5,
          [&](cudaStream_t stream, Slices s) {
            const Pull with = pull(s);
            update_sgd(stream, s[0], s[1], velocity(s), step, pull_or_none(with, elastic));
          },
          [&](Slices s) {
            const Pull with = pull(s);
            cpu::update_sgd(s[0], s[1], velocity(s), step, pull_or_none(with, elastic));
          });
    }
  }
}

TEST(CudaUpdate, adamw_gives_the_bits_of_the_cpu) {
  for (const int elastic : {0, 1, 2}) {
    const AdamwStep step = {1e-3f, 1.2f, 0.9f, 0.1f, 0.999f, 0.001f, 1e-8f, 1e-5f};
    // The fourth vector holds squares, so it has no negative numbers.
    const auto pull = [&](Slices s) { return Pull{s[4], 0.13f, s[5], elastic == 2}; };
    expect_equal_passes(
        6,
        [&](cudaStream_t stream, Slices s) {
          const Pull with = pull(s);
          update_adamw(stream, s[0], s[1], s[2], s[3], step, pull_or_none(with, elastic));
        },
        [&](Slices s) {
          const Pull with = pull(s);
          cpu::update_adamw(s[0], s[1], s[2], s[3], step, pull_or_none(with, elastic));
        });
  }
}

TEST(CudaUpdate, writes_new_parameters_as_bfloat16_too) {
  const TestStream stream;
  for (const std::size_t offset : {0u, 1u, 4u}) {
    OnDevice<float> x(stream, some_numbers(2051, 1), offset), g(stream, some_numbers(2051, 2), offset);
    OnDevice<float> v(stream, some_numbers(2051, 3), offset), m(stream, some_numbers(2051, 4), offset);
    OnDevice<float> c(stream, some_numbers(2051, 5), offset), d(stream, some_numbers(2051, 6), offset);
    OnDevice<Half> half(stream, 2051, offset);
    const Pull pull = {c, 0.1f, d, true};
    update_sgd(stream, x, g, v, {1, 0.1f, 0.9f, 1e-4f, false}, &pull, half.data());
    expect_rounded(half.read(), x.read());
    update_adamw(stream, x, g, m, v, {1e-3f, 1, 0.9f, 0.1f, 0.9f, 0.1f, 1e-8f, 0}, nullptr, half.data());
    const auto moved = half.read();
    expect_same_bits(to_floats(moved), to_floats(as<Half>(x.read())));
    pull_parameters(stream, x, pull, {}, half.data());
    expect_rounded(half.read(), x.read());
    move_center_and_follow(stream, c, d, x, 0.3f, {}, half.data());
    expect_rounded(half.read(), x.read());
  }
}

TEST(CudaUpdate, pull_and_center_give_the_bits_of_the_cpu) {
  for (const bool is_ahead : {false, true}) {
    const auto ahead = [&](Slices s) { return is_ahead ? Ahead{s[3], 0.07f} : Ahead{}; };
    for (const bool behind : {false, true}) {
      expect_equal_passes(
          4,
          [&](cudaStream_t stream, Slices s) {
            pull_parameters(stream, s[0], {s[1], 0.2f, s[2], behind}, ahead(s));
          },
          [&](Slices s) {
            cpu::pull_parameters(s[0], {s[1], 0.2f, s[2], behind}, ahead(s));
          });
    }
    expect_equal_passes(
        4, [&](cudaStream_t stream, Slices s) { write_difference(stream, s[0], s[1], s[2], 0.3f, ahead(s)); },
        [&](Slices s) { cpu::write_difference(s[0], s[1], s[2], 0.3f, ahead(s)); });
    for (const float alpha : {0.3f, 1.0f}) {
      expect_equal_passes(
          4, [&](cudaStream_t stream, Slices s) { move_center_and_follow(stream, s[0], s[1], s[2], alpha, ahead(s)); },
          [&](Slices s) { cpu::move_center_and_follow(s[0], s[1], s[2], alpha, ahead(s)); });
    }
  }
  expect_equal_passes(
      2, [](cudaStream_t stream, Slices s) { move_center(stream, s[0], s[1]); },
      [](Slices s) { cpu::move_center(s[0], s[1]); });
}

TEST(CudaCenter, averages_and_messages_give_the_bits_of_the_cpu) {
  for (const bool is_ahead : {false, true}) {
    const auto ahead = [&](Slices s) { return is_ahead ? Ahead{s[3], 0.07f} : Ahead{}; };
    for (const float share : {0.01f, 1.0f}) {
      expect_equal_passes(
          4, [&](cudaStream_t stream, Slices s) { move_average(stream, s[0], s[1], s[2], share, ahead(s)); },
          [&](Slices s) { cpu::move_average(s[0], s[1], s[2], share, ahead(s)); });
    }
    expect_equal_passes(
        4, [&](cudaStream_t stream, Slices s) { write_iterate(stream, s[0], s[1], ahead(s)); },
        [&](Slices s) { cpu::write_iterate(s[0], s[1], ahead(s)); });
    expect_equal_passes(
        4, [&](cudaStream_t stream, Slices s) { write_displacement(stream, s[0], s[1], ahead(s)); },
        [&](Slices s) { cpu::write_displacement(s[0], s[1], ahead(s)); });
    expect_equal_passes(
        4, [&](cudaStream_t stream, Slices s) { write_parameters(stream, s[0], s[1], ahead(s)); },
        [&](Slices s) { cpu::write_parameters(s[0], s[1], ahead(s)); });
  }
}

TEST(CudaCenter, steps_give_the_bits_of_the_cpu) {
  const OuterKernelStep outer = {0.9f, 0.8f, 0.3f, 0.7f, 0.2f};
  expect_equal_passes(
      3, [&](cudaStream_t stream, Slices s) { step_outer(stream, s[0], s[1], s[2], outer); },
      [&](Slices s) { cpu::step_outer(s[0], s[1], s[2], outer); });
  expect_equal_passes(
      3, [](cudaStream_t stream, Slices s) { write_step(stream, s[0], s[1], s[2], 0.1f, 1e-3f); },
      [](Slices s) { cpu::write_step(s[0], s[1], s[2], 0.1f, 1e-3f); });
  expect_equal_passes(
      2, [](cudaStream_t stream, Slices s) { subtract(stream, s[0], s[1]); },
      [](Slices s) { cpu::subtract(s[0], s[1]); });
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
