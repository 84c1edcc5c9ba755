// Attention in float and bfloat16, against the CPU's in float on the same values.
#include "kernels/cuda/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "device/operations.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

template <class T>
class CudaAttention : public testing::Test {};
using Types = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaAttention, Types);

constexpr std::uint64_t kDropoutSeed = 99;
constexpr std::int64_t kStepOfPass = 12345;

using Values = std::vector<float>;

Values filled(std::size_t size) { return Values(size, std::nanf("")); }

struct Problem {
  AttentionShape shape;
  Values input, d_output;
  std::vector<std::int64_t> indices;

  std::size_t rows() const { return size_of(shape.samples * shape.positions); }
  std::size_t outputs() const { return rows() * size_of(shape.output_row()); }
  std::size_t log_sums() const { return size_of(shape.samples * shape.heads * shape.positions); }
};

template <class T>
Problem problem_of(const AttentionShape& shape, float deviation = 1) {
  Problem p = {shape, {}, {}, {}};
  p.input = some_numbers<T>(p.rows() * size_of(shape.input_row()), 1, deviation);
  p.d_output = some_numbers<T>(p.outputs(), 2);
  for (std::int64_t i = 0; i < shape.samples; ++i) p.indices.push_back(70000 * i + 5);
  return p;
}

struct Results {
  Values output, log_sums, d_input;
};

template <class T>
Results run_on_device(const Problem& p) {
  const TestStream stream;
  const AttentionShape& s = p.shape;
  const Attention shape = {s.samples, static_cast<int>(s.positions), static_cast<int>(s.heads),
                           static_cast<int>(s.groups), static_cast<int>(s.width)};
  OnDevice<PassBlock> block(stream,
                            std::vector<PassBlock>{{kDropoutSeed, kStepOfPass, 1, static_cast<int>(s.samples)}});
  OnDevice<std::int64_t> indices(stream, p.indices);
  const ShareDropout dropout = {s.dropout, s.layer, block.data(), indices.data()};
  OnDevice<T> input(stream, as<T>(p.input)), output(stream, p.outputs());
  OnDevice<T> d_output(stream, as<T>(p.d_output)), d_input(stream, p.input.size());
  OnDevice<float> log_sums(stream, p.log_sums()), scratch(stream, size_of(attention_scratch(shape)));
  attention<T>(stream, shape, dropout, input.data(), output.data(), log_sums.data());
  attention_gradient<T>(stream, shape, dropout, input.data(), output.data(), log_sums.data(), d_output.data(),
                        d_input.data(), scratch.data());
  static_cast<void>(scratch.read());  // checks the margins
  return {to_floats(output.read()), log_sums.read(), to_floats(d_input.read())};
}

// The gradient begins from `of_device`, so that only its own differences count.
Results run_on_cpu(const Problem& p, const Results& of_device) {
  const std::unique_ptr<Compute> compute = make_cpu_compute(1);
  const auto plan = compute->plan(p.shape);
  Results r = {filled(p.outputs()), filled(p.log_sums()), filled(p.input.size())};
  Values scratch = filled(size_of(plan->scratch_size()));
  const std::vector<std::int32_t> labels(p.indices.size());
  const Batch batch{p.shape.samples, kStepOfPass, p.input, labels, p.indices};
  compute->begin_pass({}, {batch, kDropoutSeed, 1});
  plan->forward({p.input, r.output, r.log_sums, scratch});
  plan->backward({p.input, of_device.output, of_device.log_sums, p.d_output, r.d_input, scratch});
  compute->end_pass();
  return r;
}

double largest_of(const Values& values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(double{value}));
  return largest;
}

// Samples, positions, heads, groups and width; then dropout and its layer. A tile has 64 positions, and heads are cut
// into chunks of 16, 32 or 64 channels.
const std::vector<AttentionShape> kShapes = {
    {1, 1, 1, 1, 1},       {2, 1, 3, 1, 5},        {3, 7, 2, 2, 16},           {1, 64, 2, 1, 24},
    {2, 65, 6, 2, 8},      {1, 130, 3, 3, 33},     {1, 70, 2, 1, 64},          {1, 67, 1, 1, 128},
    {1, 66, 2, 2, 200},    {1, 40, 1, 1, 256},     {2, 67, 6, 3, 16, 0.3f, 2}, {1, 133, 2, 1, 20, 0.5f, 7},
    {2, 9, 5, 1, 3, 0.1f}, {1, 3, 2, 1, 130, 0.2f}};

template <class T>
void expect_the_cpus(const Problem& p, double tolerance) {
  const Results got = run_on_device<T>(p), expected = run_on_cpu(p, got);
  expect_near(got.log_sums, expected.log_sums, 1e-6, tolerance);
  expect_near(got.output, expected.output, kRounding<T>, tolerance * largest_of(expected.output));
  expect_near(got.d_input, expected.d_input, kRounding<T>, tolerance * largest_of(expected.d_input));
}

TYPED_TEST(CudaAttention, and_its_gradient_are_those_of_the_cpu) {
  for (const AttentionShape& s : kShapes) {
    SCOPED_TRACE(std::to_string(s.samples) + " samples of " + std::to_string(s.positions) + ", " +
                 std::to_string(s.heads) + " heads in " + std::to_string(s.groups) + " groups of width " +
                 std::to_string(s.width));
    // Sums of up to 256 products in another order.
    expect_the_cpus<TypeParam>(problem_of<TypeParam>(s), 2e-6);
  }
}

// Scores up to some 100, so a row's largest score changes from tile to tile, and most shares are 0.
TYPED_TEST(CudaAttention, holds_for_large_scores) {
  expect_the_cpus<TypeParam>(problem_of<TypeParam>({1, 140, 2, 1, 16}, 5), 3e-5);
}

TYPED_TEST(CudaAttention, has_the_same_bits_each_time) {
  for (const AttentionShape& shape : {AttentionShape{2, 67, 4, 2, 12}, AttentionShape{1, 130, 2, 1, 65, 0.4f, 1}}) {
    const Problem p = problem_of<TypeParam>(shape);
    const Results once = run_on_device<TypeParam>(p), again = run_on_device<TypeParam>(p);
    expect_same_bits(again.output, once.output);
    expect_same_bits(again.log_sums, once.log_sums);
    expect_same_bits(again.d_input, once.d_input);
  }
}

TYPED_TEST(CudaAttention, sees_no_later_position) {
  const AttentionShape shape{1, 100, 2, 2, 9};
  constexpr std::size_t kChanged = 70;  // from this position on
  Problem p = problem_of<TypeParam>(shape);
  const Results before = run_on_device<TypeParam>(p);
  for (std::size_t i = kChanged * size_of(shape.input_row()); i < p.input.size(); ++i) p.input[i] = 1;
  const Results after = run_on_device<TypeParam>(p);
  const auto first = [&](const Values& output) {
    return Values(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(kChanged * size_of(shape.output_row())));
  };
  expect_same_bits(first(after.output), first(before.output));
  EXPECT_NE(after.output, before.output);
}

// Shares that are dropped change the output, but not the sums that backward needs.
TYPED_TEST(CudaAttention, has_the_same_log_sums_with_dropout) {
  Problem p = problem_of<TypeParam>({1, 70, 2, 1, 8});
  const Results whole = run_on_device<TypeParam>(p);
  p.shape.dropout = 0.5f;
  const Results dropped = run_on_device<TypeParam>(p);
  expect_same_bits(dropped.log_sums, whole.log_sums);
  EXPECT_NE(dropped.output, whole.output);
}

}  // namespace
}  // namespace eave::cuda
