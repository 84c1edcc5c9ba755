// Each word of kernels/flat on the device: the CPU's bits, for any length and alignment. A new word is tested without a
// change here.
#include <gtest/gtest.h>

#include <span>
#include <thread>

#include "eave/compute.h"
#include "kernels/cuda/flat.h"
#include "kernels/flat/flat_pass.h"
#include "numbers.h"
#include "on_device.h"
#include "test/device/sample_passes.h"

namespace eave::cuda {
namespace {

// No element, less than a packet, a packet, several blocks, with and without a remainder.
constexpr std::size_t kPassSizes[] = {0, 1, 4, 5, 1024, 2051};

// Runs the pass on both: with all vectors aligned, with all offset by one element, and with a different offset each.
void expect_the_bits_of_the_cpu(const SamplePass& sample, std::size_t size, int offsets, bool with_special) {
  const TestStream stream;
  PassVectors cpu = sample_vectors(size, with_special);
  std::vector<std::unique_ptr<OnDevice<float>>> device;
  PassSlices cpu_slices, device_slices;
  for (std::size_t k = 0; k < kPassVectors; ++k) {
    const std::size_t offset = offsets == 2 ? k : static_cast<std::size_t>(offsets);
    device.push_back(std::make_unique<OnDevice<float>>(stream, cpu[k], offset));
    device_slices[k] = *device.back();
    cpu_slices[k] = cpu[k];
  }
  OnDevice<Half> half(stream, size, static_cast<std::size_t>(offsets));
  OnDevice<double> stayed(stream, std::vector<double>{0});
  const bool all = sample.with(cpu_slices, [](const FlatPass& pass) { return cpu::run(pass); });
  sample.with(device_slices, [&](const FlatPass& pass) { run(stream, pass, half.data(), stayed.data()); });
  for (std::size_t k = 0; k < kPassVectors; ++k) {
    SCOPED_TRACE("vector " + std::to_string(k));
    expect_equal_bits(device[k]->read(), cpu[k]);
  }
  EXPECT_EQ(stayed.read()[0] == 0, all);
  if (sample.parameters >= 0) {
    const auto parameters = device[static_cast<std::size_t>(sample.parameters)]->read();
    expect_equal_bits(to_floats(half.read()), to_floats(as<Half>(parameters)));
  }
}

// The tests run in a thread that treats denormal numbers as zero, as the device does.
void expect_the_bits_of_the_cpu_in(std::span<const std::size_t> sizes, bool with_special) {
  std::thread([&] {
    prepare_compute_thread(1);
    for (const SamplePass& sample : sample_passes()) {
      for (const std::size_t size : sizes) {
        for (const int offsets : {0, 1, 2}) {
          SCOPED_TRACE(sample.name + ", " + std::to_string(size) + " elements, offsets " + std::to_string(offsets));
          expect_the_bits_of_the_cpu(sample, size, offsets, with_special);
        }
      }
    }
  }).join();
}

TEST(CudaPasses, give_the_bits_of_the_cpu) { expect_the_bits_of_the_cpu_in(kPassSizes, false); }

TEST(CudaPasses, give_the_bits_of_the_cpu_for_numbers_that_are_not_finite_or_denormal) {
  expect_the_bits_of_the_cpu_in({kPassSizes + 5, 1}, true);
}

}  // namespace
}  // namespace eave::cuda
