// The passes of windows of tokens in float and bfloat16, against the CPU's passes in float on the same values.
#include "kernels/cuda/tokens.h"

#include <gtest/gtest.h>

#include "kernels/cpu/activation.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

template <class T>
class CudaTokens : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaTokens, Types);

// About every second token is token 1.
std::vector<float> some_tokens(const Embedding& shape) {
  RandomStream random({17, Purpose::kTest, 9}, 0);
  std::vector<float> tokens(size_of(shape.samples * shape.positions));
  for (float& token : tokens) {
    token = static_cast<float>(random.below(2) == 0 ? 1 : random.below(static_cast<std::uint32_t>(shape.vocabulary)));
  }
  return tokens;
}

// One chunk of the sort, whole ones, and several with a rest; a vocabulary above 256, and odd ones.
const std::vector<Embedding> kEmbeddings = {{1, 1, 2, 0, 1},      {3, 5, 7, 5, 6},        {2, 512, 1000, 700, 3},
                                            {3, 700, 65, 700, 8}, {5, 1024, 50257, 0, 2}, {1, 3, 5, 4, 300}};

TYPED_TEST(CudaTokens, embedding_is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const Embedding& shape : kEmbeddings) {
    const auto tokens = some_tokens(shape);
    const auto table = some_numbers(size_of(shape.vocabulary * shape.width), 1);
    const auto places = some_numbers(size_of(shape.places * shape.width), 2);
    std::vector<float> expected(tokens.size() * size_of(shape.width));
    cpu::embed(shape, tokens.data(), table.data(), places.empty() ? nullptr : places.data(), expected.data());
    OnDevice<float> tokens_there(stream, tokens), table_there(stream, table), places_there(stream, places);
    OnDevice<T> output(stream, expected.size());
    embed(stream, shape, tokens_there.data(), table_there.data(), places.empty() ? nullptr : places_there.data(),
          output.data());
    expect_rounded(output.read(), expected);
  }
}

TYPED_TEST(CudaTokens, embedding_gradient_has_the_bits_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const Embedding& shape : kEmbeddings) {
    for (const bool adds : {false, true}) {
      const auto tokens = some_tokens(shape);
      const auto d = some_numbers<T>(tokens.size() * size_of(shape.width), 3);
      auto d_table = some_numbers(size_of(shape.vocabulary * shape.width), 4);
      std::vector<float> d_places(size_of(shape.places * shape.width));
      OnDevice<float> tokens_there(stream, tokens), d_table_there(stream, d_table),
          d_places_there(stream, d_places.size());
      OnDevice<T> d_there(stream, as<T>(d));
      OnDevice<std::uint64_t> scratch(stream, size_of(embed_gradient_scratch(shape) / 8));
      const bool has_places = shape.places > 0;
      embed_gradient(stream, shape, tokens_there.data(), d_there.data(), adds, d_table_there.data(),
                     has_places ? d_places_there.data() : nullptr, scratch.data());
      cpu::embed_gradient(shape, tokens.data(), d.data(), adds, d_table.data(), has_places ? d_places.data() : nullptr);
      expect_same_bits(d_table_there.read(), d_table);
      expect_same_bits(d_places_there.read(), d_places);
      static_cast<void>(scratch.read());
    }
  }
}

const std::vector<RowNorm> kRowNorms = {{1, 1, true, 1e-5f},   {7, 10, true, 1e-5f},     {65, 21, false, 0.1f},
                                        {33, 64, true, 1e-5f}, {200, 384, false, 1e-5f}, {3, 1500, true, 1e-5f}};

TYPED_TEST(CudaTokens, row_norm_is_that_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const RowNorm& norm : kRowNorms) {
    for (const bool shifts : {false, true}) {
      const auto x = some_numbers<T>(size_of(norm.rows * norm.channels), 1);
      const auto scale = some_numbers(size_of(norm.channels), 2), shift = some_numbers(size_of(norm.channels), 3);
      std::vector<float> y(x.size()), moments(size_of(2 * norm.rows));
      cpu::row_norm(norm, x.data(), scale.data(), shifts ? shift.data() : nullptr, y.data(), moments.data());
      OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, x.size()), again(stream, x.size());
      OnDevice<float> scale_there(stream, scale), shift_there(stream, shift), moments_there(stream, moments.size());
      const float* const shift_or_none = shifts ? shift_there.data() : nullptr;
      row_norm<T>(stream, norm, x_there.data(), scale_there.data(), shift_or_none, y_there.data(),
                  moments_there.data());
      row_norm<T>(stream, norm, x_there.data(), scale_there.data(), shift_or_none, again.data(), nullptr);
      expect_near(to_floats(y_there.read()), y, kRounding<T>, 2e-6);
      expect_near(moments_there.read(), moments, 1e-5, 1e-6);
      expect_same_bits(to_floats(again.read()), to_floats(y_there.read()));
    }
  }
}

TYPED_TEST(CudaTokens, row_norm_gradient_is_that_of_the_cpu_and_the_same_each_time) {
  using T = TypeParam;
  const TestStream stream;
  for (const RowNorm& norm : kRowNorms) {
    const auto x = some_numbers<T>(size_of(norm.rows * norm.channels), 1), d = some_numbers<T>(x.size(), 4);
    const auto scale = some_numbers(size_of(norm.channels), 2);
    std::vector<float> y(x.size()), moments(size_of(2 * norm.rows)), d_x(x.size()), d_scale(scale.size()),
        d_shift(scale.size());
    std::vector<float> scratch(size_of(cpu::row_norm_scratch(norm)));
    cpu::row_norm(norm, x.data(), scale.data(), nullptr, y.data(), moments.data());
    cpu::row_norm_gradient(norm, x.data(), scale.data(), moments.data(), d.data(), d_x.data(), d_scale.data(),
                           d_shift.data(), scratch.data());
    OnDevice<T> x_there(stream, as<T>(x)), d_there(stream, as<T>(d)), d_x_there(stream, x.size());
    OnDevice<float> scale_there(stream, scale), moments_there(stream, moments);
    OnDevice<float> d_scale_there(stream, scale.size()), d_shift_there(stream, scale.size());
    OnDevice<double> sums(stream, size_of(cuda::row_norm_scratch(norm)));
    const auto run = [&](T* d_input, float* d_shift_or_none) {
      row_norm_gradient<T>(stream, norm, x_there.data(), scale_there.data(), moments_there.data(), d_there.data(),
                           d_input, d_scale_there.data(), d_shift_or_none, sums.data());
      return d_scale_there.read();
    };
    const auto first = run(d_x_there.data(), d_shift_there.data());
    expect_near(first, d_scale, 1e-5, 2e-6 * static_cast<double>(norm.rows) + 1e-6);
    expect_near(d_shift_there.read(), d_shift, 1e-5, 2e-6 * static_cast<double>(norm.rows) + 1e-6);
    // A row of one channel has a deviation of √epsilon, which enlarges rounding errors.
    expect_near(to_floats(d_x_there.read()), d_x, kRounding<T>, norm.channels == 1 ? 1e-3 : 5e-6);
    expect_same_bits(run(nullptr, nullptr), first);
  }
}

TYPED_TEST(CudaTokens, rotary_has_the_bits_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const Rotary& rotary :
       {Rotary{1, 1, 2, 1, 2}, Rotary{2, 7, 3, 1, 6}, Rotary{3, 5, 4, 2, 16}, Rotary{2, 9, 6, 2, 32}}) {
    const std::int64_t heads = rotary.turned + rotary.copied, half = rotary.width / 2;
    const auto x = some_numbers<T>(size_of(rotary.samples * rotary.positions * heads * rotary.width), 1);
    const auto turns = some_numbers(size_of(2 * rotary.positions * half), 2);
    const float* const sines = turns.data() + rotary.positions * half;
    std::vector<float> back(sines, sines + rotary.positions * half), expected(x.size());
    for (float& sine : back) sine = -sine;
    OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, x.size());
    OnDevice<float> turns_there(stream, turns);
    for (const bool backwards : {false, true}) {
      cpu::rotate(rotary, turns.data(), backwards ? back.data() : sines, x.data(), expected.data());
      rotate<T>(stream, rotary, turns_there.data(), backwards, x_there.data(), y_there.data());
      expect_rounded(y_there.read(), expected);
    }
  }
}

TYPED_TEST(CudaTokens, gates_have_the_bits_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  for (const Elementwise word : {
#define EAVE_WORD(word, Word) Elementwise::k##Word,
           EAVE_EACH_ELEMENTWISE(EAVE_WORD)
#undef EAVE_WORD
       }) {
    for (const auto& [rows, channels] : std::vector<std::pair<std::int64_t, int>>{{1, 1}, {5, 13}, {7, 32}}) {
      const std::int64_t size = rows * channels;
      const auto x = some_numbers<T>(size_of(2 * size), 1), d = some_numbers<T>(size_of(size), 2);
      std::vector<float> y(size_of(size)), d_x(x.size());
      for (std::int64_t row = 0; row < rows; ++row) {
        const float* const first = x.data() + 2 * row * channels;
        const float *const second = first + channels, *const d_row = d.data() + row * channels;
        float *const y_row = y.data() + row * channels, *const d_first = d_x.data() + 2 * row * channels;
        cpu::activation_forward(word, 0, first, y_row, channels);
        for (int c = 0; c < channels; ++c) {
          d_first[channels + c] = y_row[c] * d_row[c];
          d_first[c] = d_row[c] * second[c];
          y_row[c] *= second[c];
        }
        cpu::activation_backward(word, 0, first, first, d_first, d_first, channels);
      }
      OnDevice<T> x_there(stream, as<T>(x)), d_there(stream, as<T>(d)), y_there(stream, y.size()),
          d_x_there(stream, x.size());
      gate<T>(stream, {word, rows, channels}, x_there.data(), y_there.data());
      gate_gradient<T>(stream, {word, rows, channels}, x_there.data(), d_there.data(), d_x_there.data());
      expect_rounded(y_there.read(), y);
      expect_rounded(d_x_there.read(), d_x);
    }
  }
}

}  // namespace
}  // namespace eave::cuda
