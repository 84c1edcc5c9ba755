// Products of matrices on a GPU, and Muon, which is made of them, against the CPU.
#include <limits>
#include <memory>

#include "eave/device.h"
#include "test/cuda/gpu.h"
#include "test/optim/optim_fixture.h"

namespace eave {
namespace {

class MatrixProductOnGpu : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (module_ != nullptr) device_ = module_->open_device(0);
  }
  Buffer there(const std::vector<float>& values) {
    Buffer buffer = device_->allocate(values.size());
    device_->write(buffer.slice(), values);
    return buffer;
  }
  std::vector<float> here(const Buffer& buffer) {
    std::vector<float> values(buffer.size());
    device_->read(buffer.slice(), values);
    return values;
  }
  std::unique_ptr<Device> device_;
};

TEST_F(MatrixProductOnGpu, equals_the_product_on_the_cpu) {
  for (const bool a_is_transposed : {false, true}) {
    for (const bool b_is_transposed : {false, true}) {
      const MatrixProduct product{13, 20, 37, a_is_transposed, b_is_transposed};
      const std::vector<float> a = random_floats(13 * 37, 1), b = random_floats(37 * 20, 2);
      std::vector<float> expected(13 * 20);
      cpu_device().multiply(product, a, b, expected);
      const Buffer a_there = there(a), b_there = there(b);
      Buffer result = device_->allocate(expected.size());
      device_->multiply(product, a_there.slice(), b_there.slice(), result.slice());
      EXPECT_LT(relative_distance(here(result), expected), 1e-6) << a_is_transposed << " " << b_is_transposed;
    }
  }
}

// Three hidden matrices side by side, a tall one, a scale, and the output, which follows AdamW.
const std::vector<TensorInfo> kTensors = {{"linear1.weight", {5, 16}, 0, 80, false, {9, 3, 4}},
                                          {"linear2.weight", {16, 3}, 80, 48},
                                          {"ln1.scale", {3}, 128, 3},
                                          {"linear3.weight", {3, 4}, 144, 12, true}};
constexpr std::size_t kArena = 160;

std::vector<float> in_arena(std::uint64_t stream) { return random_arena(kArena, kTensors, stream); }

// The iteration multiplies the rounding errors of a matrix's smallest directions by 3.4 five times.
constexpr double kTolerance = 1e-4;

class MuonOnGpu : public MatrixProductOnGpu {
 protected:
  // Takes the steps on both devices. The center's pull is part of each. One gradient has a NaN in the second matrix.
  void expect_the_same_steps(std::size_t steps, std::size_t with_nan) {
    const Given given = {{"weight-decay", "0.1"}};
    const auto cpu = make_optimizer("muon", given, kArena, kTensors);
    const auto gpu = make_optimizer("muon", given, kArena, kTensors, *device_);
    std::vector<float> x = in_arena(1), center = in_arena(20), difference(kArena);
    Buffer x_there = there(x), center_there = there(center), difference_there = there(difference);
    for (std::size_t t = 0; t < steps; ++t) {
      std::vector<float> g = in_arena(100 * (t + 1));
      if (t == with_nan) g[90] = std::numeric_limits<float>::quiet_NaN();
      const Buffer g_there = there(g);
      const bool all = cpu->update(x, g, 0.05, Pull{center, 0.1f, difference}, 0.5f)->get();
      EXPECT_EQ(all, t != with_nan);
      const Pull pull{center_there.slice(), 0.1f, difference_there.slice()};
      EXPECT_EQ(gpu->update(x_there.slice(), g_there.slice(), 0.05, pull, 0.5f)->get(), all);
    }
    EXPECT_LT(relative_distance(here(x_there), x), kTolerance);
    EXPECT_LT(relative_distance(here(difference_there), difference), kTolerance);
  }
};

TEST_F(MuonOnGpu, steps_as_on_the_cpu) { expect_the_same_steps(5, 99); }
TEST_F(MuonOnGpu, keeps_a_matrix_whose_gradient_is_not_finite) { expect_the_same_steps(4, 2); }

}  // namespace
}  // namespace eave
