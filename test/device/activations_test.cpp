// Each word of kernels/elementwise on the CPU, against double. A new word is tested without a change here.
//
// The bound is a few roundings of the result and of the input: 2^-24 · (|f| + |x · f'|). Without the second part, no
// float arithmetic that rounds a sum or a square in between could keep it in the tails, where gelu falls as e^(-x²/2).
// Results near the smallest normal number may be flushed to zero.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu/activation.h"
#include "kernels/elementwise/math.h"
#include "test/device/activation_reference.h"

namespace eave {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr double kHalfUlp = 0x1p-24, kFlushed = 0x1p-118;
constexpr double kForwardRoundings = 6, kBackwardRoundings = 10;  // measured: at most 4.8 and 8.2

struct ActivationWord {
  const char* name;
  Elementwise word;
  bool reads_output;
};
#define EAVE_NAME(word, Word) {#word, Elementwise::k##Word, elementwise::Word::kBackwardReadsOutput},
constexpr ActivationWord kActivationWords[] = {EAVE_EACH_ELEMENTWISE(EAVE_NAME)};
#undef EAVE_NAME

class Activations : public testing::TestWithParam<ActivationWord> {
 protected:
  const ActivationReference& reference() const { return activation_reference(GetParam().name); }
  std::vector<float> forward(const std::vector<float>& x) const {
    std::vector<float> y(x.size());
    cpu::activation_forward(GetParam().word, reference().parameter, x.data(), y.data(),
                            static_cast<std::int64_t>(x.size()));
    return y;
  }
  std::vector<float> derivatives(const std::vector<float>& x) const {
    const std::vector<float> y = forward(x), ones(x.size(), 1.0f);
    std::vector<float> d(x.size());
    const bool reads_output = GetParam().reads_output;
    cpu::activation_backward(GetParam().word, reference().parameter, reads_output ? nullptr : x.data(),
                             reads_output ? y.data() : nullptr, ones.data(), d.data(),
                             static_cast<std::int64_t>(x.size()));
    return d;
  }
};

// Every 9973rd float of both signs, denormal ones included.
std::vector<float> sample_of_all_floats() {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0x7f800000u; bits += 9973) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(std::bit_cast<float>(bits | 0x80000000u));
  }
  return values;
}

// Compares `got` with f. `slope` is the derivative of f. Fails at the first value that is too far off, because millions
// of lines would help nobody.
template <class Function, class Slope>
void expect_within(const std::vector<float>& x, const std::vector<float>& got, Function f, Slope slope,
                   double roundings) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = f(double{x[i]}), condition = std::abs(double{x[i]} * slope(double{x[i]}));
    if (!std::isfinite(expected) || !std::isfinite(condition)) continue;
    const double error = std::abs(double{got[i]} - expected), unit = kHalfUlp * (std::abs(expected) + condition);
    ASSERT_LE(error, roundings * unit + kFlushed) << got[i] << " and " << expected << " at " << x[i];
    if (error > kFlushed) worst = std::max(worst, error / unit);
  }
  testing::Test::RecordProperty("largest_error_in_roundings", std::to_string(worst));
}

TEST_P(Activations, are_those_of_the_standard_library_in_double) {
  const std::vector<float> x = sample_of_all_floats();
  const double p = double{reference().parameter};
  expect_within(
      x, forward(x), [&](double at) { return reference().forward(at, p); },
      [&](double at) { return reference().derivative(at, p); }, kForwardRoundings);
}

TEST_P(Activations, have_the_analytic_derivative) {
  const std::vector<float> x = sample_of_all_floats();
  const auto derivative = [&](double at) { return reference().derivative(at, double{reference().parameter}); };
  const auto second = [&](double at) {  // by a central difference, because only the bound needs it
    const double step = 1e-5 * std::max(std::abs(at), 1e-300);
    return (derivative(at + step) - derivative(at - step)) / (2 * step);
  };
  expect_within(x, derivatives(x), derivative, second, kBackwardRoundings);
}

// The reference itself could be wrong in both.
TEST_P(Activations, have_a_reference_whose_derivative_is_that_of_its_values) {
  const double p = double{reference().parameter}, step = 1e-5;
  for (double x = -6.003; x < 6; x += 0.037) {
    const double difference = (reference().forward(x + step, p) - reference().forward(x - step, p)) / (2 * step);
    EXPECT_NEAR(reference().derivative(x, p), difference, 1e-9) << x;
  }
}

// Vectors of any width give the same bits as single elements.
TEST_P(Activations, do_not_depend_on_an_elements_place) {
  const std::vector<float> x = {-3.7f, -1.2f, -0.3f, 1e-3f, 0.7f, 1.9f, 4.4f, 11.0f, -20.5f, 0.11f, -0.9f};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::vector<float> same(37, x[i]), y = forward(same), d = derivatives(same);
    for (std::size_t k = 0; k < same.size(); ++k) {
      EXPECT_EQ(y[k], forward({x[i]})[0]);
      EXPECT_EQ(d[k], derivatives({x[i]})[0]);
    }
  }
}

TEST_P(Activations, pass_nan_and_give_the_limits) {
  const std::vector<float> x = {
      std::numeric_limits<float>::quiet_NaN(), kInfinite, -kInfinite, 0.0f, -0.0f, 3e38f, -3e38f};
  const std::vector<float> y = forward(x), d = derivatives(x);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], forward({3e38f})[0] > 1 ? kInfinite : y[5]);
  EXPECT_EQ(y[2], forward({-3e38f})[0] < -1 ? -kInfinite : y[6]);
  EXPECT_EQ(y[3], y[4]);
  for (std::size_t i = 1; i < d.size(); ++i) EXPECT_TRUE(std::isfinite(d[i])) << "at " << x[i];
  EXPECT_EQ(d[1], d[5]);
  EXPECT_EQ(d[2], d[6]);
}

TEST_P(Activations, work_in_place) {
  std::vector<float> x = sample_of_all_floats();
  x.resize(1001);
  const std::vector<float> y = forward(x), d = derivatives(x);
  std::vector<float> values = x, gradients(x.size(), 1.0f);
  const auto count = static_cast<std::int64_t>(x.size());
  cpu::activation_forward(GetParam().word, reference().parameter, values.data(), values.data(), count);
  EXPECT_EQ(values, y);
  cpu::activation_backward(GetParam().word, reference().parameter, x.data(), y.data(), gradients.data(),
                           gradients.data(), count);
  EXPECT_EQ(gradients, d);
}

INSTANTIATE_TEST_SUITE_P(Words, Activations, testing::ValuesIn(kActivationWords),
                         [](const auto& which) { return std::string(which.param.name); });

TEST(Exp, is_a_number_from_end_to_end) {
  for (float x = -90; x < 90; x = x + 0.01f) {
    const double exact = std::exp(std::min(double{x}, double{88.37f})), found = elementwise::exp(x);
    EXPECT_NEAR(found, exact, 0x1p-22 * exact + 0x1p-126) << x;
  }
  EXPECT_GT(elementwise::exp(kInfinite), 2e38f);
  EXPECT_EQ(elementwise::exp(-kInfinite), 0);
}

// Training relies on these bits: a gradient behind a dead relu is 0, not −0, also if it is not finite.
TEST(Relu, keeps_values_and_gradients_bit_for_bit) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = {0, -0.0f, 2, 3, 1}, d = {-1, kInfinite, -kInfinite, 1e-40f, nan};
  std::vector<float> d_x(5);
  cpu::activation_backward(Elementwise::kRelu, 0, nullptr, y.data(), d.data(), d_x.data(), 5);
  const std::vector<float> expected = {0, 0, -kInfinite, 1e-40f, nan};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(d_x[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
  }
}

}  // namespace
}  // namespace eave
