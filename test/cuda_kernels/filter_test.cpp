// Filters of convolutions from one layout to the other.
#include "kernels/cpu/filter.h"

#include <gtest/gtest.h>

#include "kernels/cuda/layers.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

template <class T>
class CudaFilter : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaFilter, Types);

TYPED_TEST(CudaFilter, is_packed_and_unpacked_as_on_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const FilterSize& size :
       {FilterSize{1, 1, 1}, FilterSize{9, 3, 64}, FilterSize{25, 6, 17}, FilterSize{9, 40, 70}}) {
    const auto filter = some_numbers<T>(static_cast<std::size_t>(size.values()), 1);
    std::vector<float> packed(filter.size());
    OnDevice<T> there(stream, as<T>(filter)), packed_there(stream, filter.size());
    OnDevice<float> back(stream, filter.size());
    pack_filter<T>(stream, size, there.data(), packed_there.data());
    unpack_filter<T>(stream, size, packed_there.data(), back.data());
    cpu::pack_filter(size, filter.data(), packed.data());
    expect_rounded(packed_there.read(), packed);
    expect_same_bits(back.read(), filter);
  }
}

}  // namespace
}  // namespace eave::cuda
