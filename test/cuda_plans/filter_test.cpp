// Packing filters on a GPU, or its emulator, gives what the CPU's function gives.
#include <gtest/gtest.h>

#include <vector>

#include "../cuda_kernels/numbers.h"
#include "../cuda_kernels/on_device.h"
#include "kernels/cuda/layers.h"

namespace eave::cuda {
namespace {

template <class T>
class FilterKernel : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(FilterKernel, Types);

// Less than a tile, a whole number of tiles, and some tiles with a remainder.
const std::vector<FilterSize> kSizes = {{9, 3, 16}, {2, 64, 32}, {3, 70, 45}, {1, 33, 100}, {25, 1, 64}};

TYPED_TEST(FilterKernel, packs_as_the_cpu_does) {
  const TestStream stream;
  for (const FilterSize& size : kSizes) {
    const auto filter = some_numbers<TypeParam>(static_cast<std::size_t>(size.values()), 1);
    std::vector<float> expected(filter.size());
    cpu::pack_filter(size, filter.data(), expected.data());
    OnDevice<TypeParam> from(stream, as<TypeParam>(filter)), into(stream, filter.size());
    pack_filter(stream, size, from.data(), into.data());
    expect_same_bits(to_floats(into.read()), expected);
  }
}

TYPED_TEST(FilterKernel, unpacks_as_the_cpu_does) {
  const TestStream stream;
  for (const FilterSize& size : kSizes) {
    const auto packed = some_numbers<TypeParam>(static_cast<std::size_t>(size.values()), 2);
    std::vector<float> expected(packed.size());
    cpu::unpack_filter(size, packed.data(), expected.data());
    OnDevice<TypeParam> from(stream, as<TypeParam>(packed));
    OnDevice<float> into(stream, packed.size());
    unpack_filter(stream, size, from.data(), into.data());
    expect_same_bits(into.read(), expected);
  }
}

}  // namespace
}  // namespace eave::cuda
