// The passes of windows of tokens, against the CPU's on the same values.
#include "kernels/cuda/tokens.h"

#include <gtest/gtest.h>

#include <numeric>

#include "device/rotary_turns.h"
#include "kernels/cpu/activation.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

template <class T>
class CudaTokens : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaTokens, Types);

std::size_t count_of(std::int64_t count) { return static_cast<std::size_t>(count); }

// One position, widths that fill no packet, rows of tokens for one, two and several chunks of the sort, tokens of which
// most are equal, and tokens that bfloat16 cannot hold.
const std::vector<Embedding> kEmbeddings = {{1, 1, 1, 0, 1},   {3, 1, 5, 2, 4},      {2, 7, 50257, 7, 3},
                                            {5, 33, 7, 64, 9}, {16, 130, 261, 0, 6}, {70, 64, 1001, 64, 5}};

std::vector<float> some_tokens(const Embedding& shape) {
  RandomStream random({5, Purpose::kTest, 3}, 0);
  std::vector<float> tokens;
  for (std::int64_t i = 0; i < shape.samples * shape.positions; ++i) {
    const std::uint32_t choices = i % 3 == 0 ? 1 : static_cast<std::uint32_t>(shape.vocabulary);
    tokens.push_back(static_cast<float>(shape.vocabulary - 1 - random.below(choices)));
  }
  return tokens;
}

TYPED_TEST(CudaTokens, get_the_rows_of_the_tables) {
  using T = TypeParam;
  const TestStream stream;
  for (const Embedding& shape : kEmbeddings) {
    const auto tokens = some_tokens(shape), table = some_numbers(count_of(shape.vocabulary * shape.width), 1);
    const auto places = some_numbers(count_of(shape.places * shape.width), 2);
    OnDevice<float> tokens_there(stream, tokens), table_there(stream, table), places_there(stream, places);
    OnDevice<T> output(stream, tokens.size() * count_of(shape.width));
    embed<T>(stream, shape, tokens_there.data(), table_there.data(), shape.places > 0 ? places_there.data() : nullptr,
             output.data());
    std::vector<float> expected(output.size());
    cpu::embed(shape, tokens.data(), table.data(), shape.places > 0 ? places.data() : nullptr, expected.data());
    expect_rounded(output.read(), expected);
  }
}

// Rows are added in the CPU's order, so the bits are equal.
TYPED_TEST(CudaTokens, add_their_gradients_in_the_order_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const Embedding& shape : kEmbeddings) {
    for (const bool adds : {false, true}) {
      SCOPED_TRACE(std::to_string(shape.samples) + " x " + std::to_string(shape.positions));
      const auto tokens = some_tokens(shape), d = some_numbers<T>(tokens.size() * count_of(shape.width), 3);
      auto table = some_numbers(count_of(shape.vocabulary * shape.width), 4);
      std::vector<float> places(count_of(shape.places * shape.width), 7.0f);
      OnDevice<float> tokens_there(stream, tokens), table_there(stream, table), places_there(stream, places);
      OnDevice<T> d_there(stream, as<T>(d));
      OnDevice<std::uint64_t> scratch(stream, count_of(embed_gradient_scratch(shape) + 7) / 8);
      embed_gradient<T>(stream, shape, tokens_there.data(), d_there.data(), adds, table_there.data(),
                        shape.places > 0 ? places_there.data() : nullptr, scratch.data());
      cpu::embed_gradient(shape, tokens.data(), d.data(), adds, table.data(),
                          shape.places > 0 ? places.data() : nullptr);
      expect_same_bits(table_there.read(), table);
      expect_same_bits(places_there.read(), places);
      static_cast<void>(scratch.read());  // checks the margins
    }
  }
}

struct Extent {
  std::int64_t rows, channels;
};

// Layer norm or RMS norm on both devices. The mean is 3, so that cancellation would show.
template <class T>
void expect_equal_row_norms(const RowNorm& norm, bool shifted) {
  const TestStream stream;
  const std::size_t size = count_of(norm.rows * norm.channels), channels = count_of(norm.channels);
  auto x = some_numbers<T>(size, 1);
  for (float& value : x) value = to_floats(as<T>({value + 3}))[0];
  const auto scale = some_numbers(channels, 2), shift = some_numbers(channels, 3), d = some_numbers<T>(size, 4);
  OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, size), d_there(stream, as<T>(d)), d_x_there(stream, size);
  OnDevice<float> scale_there(stream, scale), shift_there(stream, shift), saved(stream, count_of(2 * norm.rows));
  OnDevice<float> d_scale_there(stream, channels), d_shift_there(stream, channels);
  OnDevice<double> scratch_there(stream, count_of(row_norm_scratch(norm)));
  row_norm<T>(stream, norm, x_there.data(), scale_there.data(), shifted ? shift_there.data() : nullptr, y_there.data(),
              saved.data());
  row_norm_gradient<T>(stream, norm, x_there.data(), scale_there.data(), saved.data(), d_there.data(), d_x_there.data(),
                       d_scale_there.data(), shifted ? d_shift_there.data() : nullptr, scratch_there.data());

  std::vector<float> y(size), d_x(size), d_scale(channels), d_shift(channels), moments(count_of(2 * norm.rows));
  std::vector<double> scratch(count_of(cpu::row_norm_scratch(norm)));
  cpu::row_norm(norm, x.data(), scale.data(), shifted ? shift.data() : nullptr, y.data(), moments.data());
  cpu::row_norm_gradient(norm, x.data(), scale.data(), moments.data(), d.data(), d_x.data(), d_scale.data(),
                         shifted ? d_shift.data() : nullptr, reinterpret_cast<float*>(scratch.data()));
  expect_near(saved.read(), moments, 1e-5, 1e-6);
  // Sums in another order err by 1e-6 of the mean, and 1/deviation magnifies that.
  float most = 1;
  for (std::int64_t row = 0; row < norm.rows; ++row) most = std::max(most, moments[count_of(2 * row + 1)]);
  expect_near(to_floats(y_there.read()), y, kRounding<T>, 2e-5 * double{most});
  expect_near(to_floats(d_x_there.read()), d_x, kRounding<T>, 1e-4 * double{most} * double{most});
  expect_near(d_scale_there.read(), d_scale, 1e-5, 4e-6 * double{most} * double(norm.rows) + 1e-5);
  if (shifted) expect_near(d_shift_there.read(), d_shift, 1e-5, 1e-6 * double(norm.rows) + 1e-5);
}

TYPED_TEST(CudaTokens, have_the_row_norms_of_the_cpu) {
  for (const Extent& extent : std::vector<Extent>{{1, 3}, {7, 10}, {33, 64}, {700, 17}, {130, 768}, {5, 2050}}) {
    for (const bool centred : {false, true}) {
      SCOPED_TRACE(std::to_string(extent.rows) + " x " + std::to_string(extent.channels));
      expect_equal_row_norms<TypeParam>({extent.rows, extent.channels, centred, 1e-5f}, centred);
    }
  }
}

TYPED_TEST(CudaTokens, have_the_scale_gradient_of_a_row_norm_without_one_of_the_input) {
  using T = TypeParam;
  const TestStream stream;
  const RowNorm norm = {6, 5, true, 0.1f};
  const auto x = some_numbers<T>(30, 1), d = some_numbers<T>(30, 2), scale = some_numbers(5, 3);
  OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, 30), d_there(stream, as<T>(d)), d_x_there(stream, 30);
  OnDevice<float> scale_there(stream, scale), saved(stream, 12), with(stream, 5), without(stream, 5);
  OnDevice<double> scratch(stream, count_of(row_norm_scratch(norm)));
  row_norm<T>(stream, norm, x_there.data(), scale_there.data(), nullptr, y_there.data(), saved.data());
  for (OnDevice<float>* into : {&with, &without}) {
    row_norm_gradient<T>(stream, norm, x_there.data(), scale_there.data(), saved.data(), d_there.data(),
                         into == &with ? d_x_there.data() : nullptr, into->data(), nullptr, scratch.data());
  }
  expect_same_bits(without.read(), with.read());
}

TYPED_TEST(CudaTokens, are_turned_and_turned_back_as_on_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const AttentionShape& of :
       std::vector<AttentionShape>{{1, 1, 1, 1, 2}, {3, 7, 4, 2, 6}, {2, 33, 3, 1, 16}, {2, 5, 2, 2, 64}}) {
    const std::vector<float> turns = rotary_turns({of, 100});
    const Rotary rotary = {of.samples, of.positions, of.heads + of.groups, of.groups, of.width};
    const auto x = some_numbers<T>(count_of(of.samples * of.positions * of.input_row()), 1);
    OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, x.size());
    OnDevice<float> turns_there(stream, turns);
    for (const bool back : {false, true}) {
      rotate<T>(stream, rotary, turns_there.data(), back, x_there.data(), y_there.data());
      const auto half = static_cast<std::ptrdiff_t>(turns.size() / 2);
      std::vector<float> y(x.size()), sines(turns.begin() + half, turns.end());
      if (back) {
        for (float& sine : sines) sine = -sine;
      }
      cpu::rotate(rotary, turns.data(), sines.data(), x.data(), y.data());
      expect_near(to_floats(y_there.read()), y, kRounding<T>, 1e-6);
    }
  }
}

TYPED_TEST(CudaTokens, are_gated_as_on_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const Extent& extent : std::vector<Extent>{{1, 1}, {7, 13}, {65, 32}, {300, 264}}) {
    for (const Elementwise word : {Elementwise::kSilu, Elementwise::kRelu, Elementwise::kGeluTanh}) {
      const std::int64_t count = extent.rows * extent.channels;
      const auto x = some_numbers<T>(count_of(2 * count), 1), d = some_numbers<T>(count_of(count), 2);
      OnDevice<T> x_there(stream, as<T>(x)), d_there(stream, as<T>(d));
      OnDevice<T> y_there(stream, d.size()), d_x_there(stream, x.size());
      const Gated shape = {word, extent.rows, static_cast<int>(extent.channels)};
      gate<T>(stream, shape, x_there.data(), y_there.data());
      gate_gradient<T>(stream, shape, x_there.data(), d_there.data(), d_x_there.data());
      std::vector<float> y(d.size()), d_x(x.size());
      for (std::int64_t row = 0; row < extent.rows; ++row) {
        for (std::int64_t c = 0; c < extent.channels; ++c) {
          const std::size_t i = count_of(2 * row * extent.channels + c), j = i + count_of(extent.channels);
          const std::size_t k = count_of(row * extent.channels + c);
          cpu::activation_forward(word, 0, &x[i], &d_x[j], 1);
          y[k] = d_x[j] * x[j];
          d_x[j] *= d[k];
          const float d_first = d[k] * x[j];
          cpu::activation_backward(word, 0, &x[i], &x[i], &d_first, &d_x[i], 1);
        }
      }
      expect_near(to_floats(y_there.read()), y, kRounding<T>, 1e-6);
      expect_near(to_floats(d_x_there.read()), d_x, kRounding<T>, 1e-6);
    }
  }
}

}  // namespace
}  // namespace eave::cuda
