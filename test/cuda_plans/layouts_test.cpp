// The memory layouts that plans assume: indices, strides and positions. None of these tests needs a device.
#include <gtest/gtest.h>

#include <vector>

#include "device/cuda/plans/cublas_product.h"
#include "device/cuda/plans/cudnn_operation.h"
#include "device/cuda/workspace_layout.h"
#include "kernels/cpu/filter.h"

namespace eave::cuda {
namespace {

using Values = std::vector<float>;

// Small integers, so that sums of their products are exact.
Values numbers(std::int64_t count, int first) {
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((static_cast<int>(i) * 7 + first) % 11) - 5;
  return values;
}

float element(const Values& matrix, std::int64_t row, std::int64_t column, std::int64_t stride, bool transposed) {
  return matrix[static_cast<std::size_t>(transposed ? row * stride + column : column * stride + row)];
}

// The product as cuBLAS defines it, on column-major matrices.
Values multiply(const Product& p, const Values& a, const Values& b) {
  Values d(static_cast<std::size_t>(p.n * p.stride_d));
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k)
        sum += element(a, i, k, p.stride_a, p.transpose_a) * element(b, k, j, p.stride_b, p.transpose_b);
      d[static_cast<std::size_t>(j * p.stride_d + i)] = sum;
    }
  }
  return d;
}

// The product as eave defines it: row-major rows × inner by inner × columns.
template <class A, class B>
Values sum_products(std::int64_t rows, std::int64_t inner, std::int64_t columns, const A& a, const B& b) {
  Values result;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) sum += a(i, k) * b(k, j);
      result.push_back(sum);
    }
  }
  return result;
}

class Dense : public testing::Test {
 protected:
  static constexpr DenseShape kShape = {.samples = 6, .inputs = 5, .outputs = 10};
  const Values input = numbers(6 * 5, 1), weights = numbers(5 * 10, 3), d_output = numbers(6 * 10, 2);

  float x(std::int64_t sample, std::int64_t i) const { return input[static_cast<std::size_t>(sample * 5 + i)]; }
  float w(std::int64_t i, std::int64_t o) const { return weights[static_cast<std::size_t>(i * 10 + o)]; }
  float dy(std::int64_t sample, std::int64_t o) const { return d_output[static_cast<std::size_t>(sample * 10 + o)]; }
};

TEST_F(Dense, forward_is_input_by_weights) {
  const Values expected = sum_products(
      6, 5, 10, [&](auto i, auto k) { return x(i, k); }, [&](auto k, auto j) { return w(k, j); });
  EXPECT_EQ(multiply(forward_product(kShape, true, false), weights, input), expected);
}

TEST_F(Dense, gradient_of_weights_is_transposed_input_by_gradient) {
  const Values expected = sum_products(
      5, 6, 10, [&](auto i, auto k) { return x(k, i); }, [&](auto k, auto j) { return dy(k, j); });
  EXPECT_EQ(multiply(weights_product(kShape, false), d_output, input), expected);
}

TEST_F(Dense, gradient_of_input_is_gradient_by_transposed_weights) {
  const Values expected = sum_products(
      6, 10, 5, [&](auto i, auto k) { return dy(i, k); }, [&](auto k, auto j) { return w(j, k); });
  EXPECT_EQ(multiply(input_product(kShape, false), weights, d_output), expected);
}

TEST_F(Dense, only_gradients_of_weights_are_float32_in_bfloat16) {
  EXPECT_TRUE(forward_product(kShape, true, true).half_result);
  EXPECT_TRUE(input_product(kShape, true).half_result);
  EXPECT_FALSE(weights_product(kShape, true).half_result);
}

TEST(ConvolutionOperation, leaves_bias_and_relu_to_the_pool) {
  ConvolutionShape shape;
  shape.samples = 4;
  shape.input = {28, 28, 3};
  shape.window = {5, 5, 1, 0};
  shape.outputs = 64;
  shape.relu = true;
  const auto alone = describe_operation(ConvolutionTask::kForward, shape, false);
  EXPECT_TRUE(alone.bias && alone.relu);
  shape.pool = 2;
  const auto pooled = describe_operation(ConvolutionTask::kForward, shape, false);
  EXPECT_FALSE(pooled.bias || pooled.relu);
  EXPECT_EQ(pooled.output_values(), 4 * 24 * 24 * 64);
  EXPECT_EQ(pooled.input_values(), 4 * 28 * 28 * 3);
  EXPECT_EQ(pooled.filter_values(), 64 * 5 * 5 * 3);
}

TEST(Filter, is_packed_with_outputs_first) {
  const cpu::FilterSize size = {6, 3, 5};
  const Values filter = numbers(size.values(), 4);
  Values packed(filter.size()), back(filter.size());
  cpu::pack_filter(size, filter.data(), packed.data());
  for (std::int64_t tap = 0; tap < 6; ++tap) {
    for (std::int64_t input = 0; input < 3; ++input) {
      for (std::int64_t output = 0; output < 5; ++output) {
        EXPECT_EQ(packed[static_cast<std::size_t>((output * 6 + tap) * 3 + input)],
                  filter[static_cast<std::size_t>((tap * 3 + input) * 5 + output)]);
      }
    }
  }
  cpu::unpack_filter(size, packed.data(), back.data());
  EXPECT_EQ(back, filter);
}

TEST(Pieces, are_aligned_apart_and_inside_wherever_the_slice_begins) {
  WorkspaceLayout layout;
  const std::vector<std::int64_t> bytes = {1, 256, 300, 4096};
  std::vector<std::int64_t> offsets;
  for (const std::int64_t size : bytes) offsets.push_back(layout.add(size));
  Values memory(static_cast<std::size_t>(layout.floats()) + 64);
  for (std::size_t first = 0; first < 64; first += 16) {
    const Slice slice = Slice(memory).subspan(first, static_cast<std::size_t>(layout.floats()));
    const char* end = reinterpret_cast<const char*>(slice.data());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char* at = piece<char>(slice, offsets[i]);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 256, 0u);
      EXPECT_GE(at, end);
      end = at + bytes[i];
    }
    EXPECT_LE(end, reinterpret_cast<const char*>(slice.data() + slice.size()));
  }
}

TEST(Pieces, of_nothing_take_nothing) {
  WorkspaceLayout layout;
  EXPECT_EQ(layout.add(0), 0);
  EXPECT_EQ(layout.floats(), 0);
  EXPECT_EQ(piece(Slice(), 0), nullptr);
}

TEST(Weights, of_bfloat16_lie_as_the_parameters_do) {
  const Values parameters(64);
  const std::vector<std::uint16_t> halves(64);
  Context context;
  context.precision = Precision::kBf16;
  context.parameters = parameters.data();
  context.half_parameters = halves.data();
  EXPECT_EQ(context.weights(ConstSlice(parameters).subspan(16, 8)), halves.data() + 16);
  context.precision = Precision::kTf32;
  EXPECT_EQ(context.weights(ConstSlice(parameters).subspan(16, 8)), parameters.data() + 16);
}

}  // namespace
}  // namespace eave::cuda
