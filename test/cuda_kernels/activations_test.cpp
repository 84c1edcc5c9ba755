// Each word of kernels/elementwise on the device, in float and bfloat16, against the same word on the CPU. A new word
// is tested without a change here.
#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/activation.h"
#include "kernels/cuda/activation.h"
#include "numbers.h"
#include "on_device.h"

namespace eave::cuda {
namespace {

struct NamedWord {
  const char* name;
  Elementwise word;
  bool reads_output;
};
#define EAVE_NAME(word, Word) {#word, Elementwise::k##Word, elementwise::Word::kBackwardReadsOutput},
constexpr NamedWord kWords[] = {EAVE_EACH_ELEMENTWISE(EAVE_NAME)};
#undef EAVE_NAME

constexpr float kParameter = 0.25f;

template <class T>
class CudaActivations : public testing::Test {};
using ActivationTypes = testing::Types<float, Half>;
TYPED_TEST_SUITE(CudaActivations, ActivationTypes);

// Inputs around 0 and far from it.
template <class T>
std::vector<float> inputs_of_all_sizes(std::size_t size) {
  auto values = some_numbers<T>(size, 1);
  const auto far = some_numbers<T>(size, 2, 20);
  for (std::size_t i = 0; i < size; i += 3) values[i] = far[i];
  values[0] = 0;
  return values;
}

// On a device, denormal numbers are 0. On a CPU thread that was not prepared, they are not.
std::vector<float> without_denormals(std::vector<float> values) {
  for (float& value : values) {
    if (std::abs(value) < std::numeric_limits<float>::min()) value = std::copysign(0.0f, value);
  }
  return values;
}

template <class T>
void expect_rounded_normals(const std::vector<T>& got, const std::vector<float>& expected) {
  expect_same_bits(without_denormals(to_floats(got)), without_denormals(to_floats(as<T>(without_denormals(expected)))));
}

TYPED_TEST(CudaActivations, are_those_of_the_cpu_bit_for_bit) {
  using T = TypeParam;
  const TestStream stream;
  for (const NamedWord& each : kWords) {
    for (const std::size_t size : {1u, 9u, 4099u}) {
      for (const std::size_t offset : {0u, 1u}) {
        SCOPED_TRACE(std::string(each.name) + ", " + std::to_string(size) + " elements");
        const auto count = static_cast<std::int64_t>(size);
        const auto x = inputs_of_all_sizes<T>(size), d = some_numbers<T>(size, 3);
        std::vector<float> y(size), d_x(size);
        cpu::activation_forward(each.word, kParameter, x.data(), y.data(), count);
        cpu::activation_backward(each.word, kParameter, x.data(), to_floats(as<T>(y)).data(), d.data(), d_x.data(),
                                 count);

        OnDevice<T> x_there(stream, as<T>(x), offset), y_there(stream, size, offset);
        OnDevice<T> d_there(stream, as<T>(d), 0), d_x_there(stream, size, offset);
        activation_forward<T>(stream, each.word, kParameter, x_there.data(), y_there.data(), count);
        activation_backward<T>(stream, each.word, kParameter, x_there.data(), y_there.data(), d_there.data(),
                               d_x_there.data(), count);
        expect_rounded_normals(y_there.read(), y);
        expect_rounded_normals(d_x_there.read(), d_x);
      }
    }
  }
}

TYPED_TEST(CudaActivations, work_in_place_and_read_only_what_they_must) {
  using T = TypeParam;
  const TestStream stream;
  constexpr std::int64_t kCount = 1003;
  for (const NamedWord& each : kWords) {
    SCOPED_TRACE(each.name);
    const auto x = inputs_of_all_sizes<T>(kCount), d = some_numbers<T>(kCount, 3);
    std::vector<float> y(kCount), d_x(kCount);
    cpu::activation_forward(each.word, kParameter, x.data(), y.data(), kCount);
    cpu::activation_backward(each.word, kParameter, x.data(), to_floats(as<T>(y)).data(), d.data(), d_x.data(), kCount);

    OnDevice<T> x_there(stream, as<T>(x)), d_there(stream, as<T>(d)), y_there(stream, as<T>(x));
    activation_forward<T>(stream, each.word, kParameter, y_there.data(), y_there.data(), kCount);
    const T* const input = each.reads_output ? nullptr : x_there.data();
    const T* const output = each.reads_output ? y_there.data() : nullptr;
    activation_backward<T>(stream, each.word, kParameter, input, output, d_there.data(), d_there.data(), kCount);
    expect_rounded_normals(y_there.read(), y);
    expect_rounded_normals(d_there.read(), d_x);
  }
}

// Training stops when a loss is not finite, so no word may turn NaN into a number.
TYPED_TEST(CudaActivations, pass_nan_and_give_the_limits_of_the_cpu) {
  using T = TypeParam;
  const TestStream stream;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x =
      to_floats(as<T>({std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 1e30f, -1e30f, -0.0f}));
  const auto count = static_cast<std::int64_t>(x.size());
  for (const NamedWord& each : kWords) {
    SCOPED_TRACE(each.name);
    std::vector<float> y(x.size());
    cpu::activation_forward(each.word, kParameter, x.data(), y.data(), count);
    OnDevice<T> x_there(stream, as<T>(x)), y_there(stream, x.size());
    activation_forward<T>(stream, each.word, kParameter, x_there.data(), y_there.data(), count);
    auto got = to_floats(y_there.read());
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(got[0]));
    y[0] = got[0] = 0;  // devices may choose other NaNs
    expect_same_bits(without_denormals(got), to_floats(as<T>(without_denormals(y))));
  }
}

}  // namespace
}  // namespace eave::cuda
