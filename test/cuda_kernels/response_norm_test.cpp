// Normalisation by neighbouring channels in float and bfloat16, against the CPU's.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kernels/cuda/layers.h"
#include "kernels/cuda/support/rows.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

template <class T>
class CudaResponseNorm : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaResponseNorm, Types);

// Rows and channels: windows of channels inside a row, cut off by its ends, and across the ends of blocks.
const std::vector<std::pair<std::int64_t, std::int64_t>> kNormExtents = {{1, 1}, {7, 10}, {64, 8}, {70, 64}, {3, 700}};

TYPED_TEST(CudaResponseNorm, is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const auto& [rows, channels] : kNormExtents) {
    const auto size = static_cast<std::size_t>(rows * channels);
    for (const int radius : {1, 2, 4, 7, 64}) {
      for (const float beta : {0.75f, 0.6f}) {
        const ResponseNorm norm = {rows, channels, radius, 0.3f, beta, 1.5f};
        const auto x = some_numbers<T>(size, 1), d = some_numbers<T>(size, 2);
        OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, size);
        OnDevice<T> d_there(stream, as<T>(d)), d_x_there(stream, size);
        local_response_norm<T>(stream, norm, x_there.data(), y_there.data());
        local_response_norm_gradient<T>(stream, norm, x_there.data(), d_there.data(), d_x_there.data());
        std::vector<float> y(size), d_x(size);
        cpu::local_response_norm(norm, x.data(), y.data());
        cpu::local_response_norm_gradient(norm, x.data(), d.data(), d_x.data());
        if (beta == 0.75f) {
          expect_rounded(y_there.read(), y);
          expect_rounded(d_x_there.read(), d_x);
        } else {
          // powf errs by a few units in the last place, and the gradient's two terms may cancel.
          expect_near(to_floats(y_there.read()), y, kRounding<T>, 1e-6);
          expect_near(to_floats(d_x_there.read()), d_x, kRounding<T>, 1e-5);
        }
      }
    }
  }
}

// AlexNet's first such layer has 55 x 55 rows of 96 channels for each image: 8,000 images are more values than 2^31.
TEST(CudaResponseNormParts, cover_all_rows_of_an_array_that_one_launch_cannot_count) {
  using Parts = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const auto parts_of = [](std::int64_t rows, std::int64_t channels, std::int64_t most) {
    Parts parts;
    for_row_parts(rows, channels, most, [&](std::int64_t first, std::int64_t count) {
      parts.push_back({first, count});
    });
    return parts;
  };
  EXPECT_EQ(parts_of(0, 96, 100), Parts());
  EXPECT_EQ(parts_of(5, 10, 50), (Parts{{0, 5}}));
  EXPECT_EQ(parts_of(5, 10, 49), (Parts{{0, 4}, {4, 1}}));
  EXPECT_EQ(parts_of(5, 10, 20), (Parts{{0, 2}, {2, 2}, {4, 1}}));
  const std::int64_t most = 2'147'483'135, rows = std::int64_t{8000} * 55 * 55;
  EXPECT_EQ(parts_of(rows, 96, most), (Parts{{0, most / 96}, {most / 96, rows - most / 96}}));
}

}  // namespace
}  // namespace eave::cuda
