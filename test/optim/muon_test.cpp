// Muon follows its formula in double, takes hidden matrices only, and leaves a matrix whole or not at all.
#include <gtest/gtest.h>

#include <cmath>

#include "optim/newton_schulz.h"
#include "optim_fixture.h"

namespace eave {
namespace {

using Doubles = std::vector<double>;

struct Shape {
  std::int64_t rows, columns;
};

Doubles product(const Doubles& a, Shape of_a, const Doubles& b, Shape of_b) {
  Doubles c(static_cast<std::size_t>(of_a.rows * of_b.columns));
  for (std::int64_t i = 0; i < of_a.rows; ++i) {
    for (std::int64_t j = 0; j < of_b.columns; ++j) {
      for (std::int64_t k = 0; k < of_a.columns; ++k) {
        c[static_cast<std::size_t>(i * of_b.columns + j)] +=
            a[static_cast<std::size_t>(i * of_a.columns + k)] * b[static_cast<std::size_t>(k * of_b.columns + j)];
      }
    }
  }
  return c;
}

Doubles transposed(const Doubles& a, Shape shape) {
  Doubles b(a.size());
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t j = 0; j < shape.columns; ++j)
      b[static_cast<std::size_t>(j * shape.rows + i)] = a[static_cast<std::size_t>(i * shape.columns + j)];
  }
  return b;
}

// As published, without the transposition of tall matrices, which changes nothing but the cost.
Doubles orthogonal_in_double(Doubles x, Shape shape) {
  double norm = 0;
  for (const double value : x) norm += value * value;
  for (double& value : x) value /= std::sqrt(norm) + 1e-7;
  const Shape turned{shape.columns, shape.rows}, square{shape.rows, shape.rows};
  for (int i = 0; i < 5; ++i) {
    const Doubles a = product(x, shape, transposed(x, shape), turned), aa = product(a, square, a, square);
    Doubles b(a.size());
    for (std::size_t k = 0; k < a.size(); ++k) b[k] = -4.7750 * a[k] + 2.0315 * aa[k];
    const Doubles bx = product(b, square, x, shape);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = 3.4445 * x[k] + bx[k];
  }
  return x;
}

Doubles as_doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// The iteration multiplies the smallest singular values by 3.4 five times, and their rounding errors too.
constexpr double kTolerance = 1e-3;

TEST(NewtonSchulz, follows_its_formula_in_double) {
  for (const Shape shape : {Shape{1, 1}, Shape{7, 20}, Shape{20, 7}, Shape{16, 16}, Shape{6, 48}, Shape{37, 5}}) {
    const auto size = static_cast<std::size_t>(shape.rows * shape.columns);
    const std::vector<float> matrix = random_floats(size, 11);
    std::vector<float> result = matrix;
    const std::int64_t side = std::min(shape.rows, shape.columns);
    NewtonSchulz(cpu_device(), shape.rows * shape.columns, side * side)
        .orthogonalise(shape.rows, shape.columns, result);
    const Doubles expected = orthogonal_in_double(as_doubles(matrix), shape);
    for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(result[i], expected[i], kTolerance) << shape.rows << ", " << i;
  }
}

// |O u| / |u| is a mean of singular values.
TEST(NewtonSchulz, brings_singular_values_near_one) {
  const Shape shape{24, 64};
  const std::vector<float> matrix = random_floats(24 * 64, 12);
  std::vector<float> result = matrix;
  NewtonSchulz(cpu_device(), 24 * 64, 24 * 24).orthogonalise(24, 64, result);
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const Doubles u = as_doubles(random_floats(24, 100 + trial));
    const Doubles moved = product(u, {1, 24}, as_doubles(result), shape);
    double before = 0, after = 0;
    for (const double value : u) before += value * value;
    for (const double value : moved) after += value * value;
    EXPECT_GT(std::sqrt(after / before), 0.65);
    EXPECT_LT(std::sqrt(after / before), 1.25);
  }
}

TEST(NewtonSchulz, leaves_zeros_alone) {
  const std::vector<float> zeros(12);
  std::vector<float> result = zeros;
  NewtonSchulz(cpu_device(), 12, 9).orthogonalise(3, 4, result);
  EXPECT_EQ(result, zeros);
}

// An embedding of 10 tokens, a scale, a hidden matrix of 5 x 7, a kernel of 2 x 1 x 3 x 4, and the output.
const std::vector<TensorInfo> kOfModel = {{"embed1.weight", {10, 3}, 0, 30},
                                          {"ln1.scale", {3}, 32, 3},
                                          {"linear1.weight", {5, 7}, 48, 35},
                                          {"conv1.weight", {2, 1, 3, 4}, 96, 24},
                                          {"linear2.weight", {4, 10}, 128, 40, true}};
constexpr std::size_t kArena = 176;

std::vector<float> in_arena(std::uint64_t stream) { return random_arena(kArena, kOfModel, stream); }

const Given kGiven = {{"weight-decay", "0.1"}, {"muon-momentum", "0.9"}};

// The columns of a row-major matrix from `first` on, or the place of those columns in it.
struct Columns {
  std::int64_t rows, all, first, count;
  std::size_t at(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * all + first + column);
  }
};

// One step of the matrix in these columns of a tensor, in double. `x`, `g` and `velocity` begin at the tensor.
void step_in_double(const Columns& of, double rate, const float* g, double* velocity, double* x) {
  Doubles direction;
  for (std::int64_t i = 0; i < of.rows; ++i) {
    for (std::int64_t j = 0; j < of.count; ++j) {
      double& v = velocity[of.at(i, j)];
      const double clipped = 0.5 * static_cast<double>(g[of.at(i, j)]);
      v = 0.9 * v + clipped;
      direction.push_back(clipped + 0.9 * v);
    }
  }
  const Doubles o = orthogonal_in_double(direction, {of.rows, of.count});
  const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(of.rows, of.count)));
  for (std::int64_t i = 0; i < of.rows; ++i) {
    for (std::int64_t j = 0; j < of.count; ++j) {
      double& value = x[of.at(i, j)];
      value -= rate * (scale * o[static_cast<std::size_t>(i * of.count + j)] + 0.1 * value);
    }
  }
}

// The matrices at 48 and 96 of kOfModel, whose columns are cut into these parts.
void expect_steps(const std::vector<TensorInfo>& tensors, const std::vector<std::int64_t>& first_parts) {
  const auto muon = make_optimizer("muon", kGiven, kArena, tensors);
  const auto adamw = make_optimizer("adamw", {{"weight-decay", "0.1"}}, kArena);
  std::vector<float> x = in_arena(1), others = x;
  Doubles expected = as_doubles(x), velocity(kArena);
  for (std::uint64_t t = 0; t < 5; ++t) {
    std::vector<float> g = in_arena(100 * (t + 1));
    for (std::size_t i = 48; i < 83; i += 7) g[i] *= 1e-3f;  // the first column hardly has a gradient
    const double rate = 0.01 + 0.005 * static_cast<double>(t);
    EXPECT_TRUE(muon->update(x, g, rate, {}, 0.5f)->get());
    adamw->update(others, g, rate, {}, 0.5f);
    std::int64_t first = 0;
    for (const std::int64_t columns : first_parts) {
      step_in_double({5, 7, first, columns}, rate, &g[48], &velocity[48], &expected[48]);
      first += columns;
    }
    step_in_double({6, 4, 0, 4}, rate, &g[96], &velocity[96], &expected[96]);
  }
  for (std::size_t i = 0; i < kArena; ++i) {
    if ((i >= 48 && i < 83) || (i >= 96 && i < 120)) {
      EXPECT_NEAR(x[i], expected[i], 1e-4) << i;
      EXPECT_GT(std::abs(x[i] - others[i]), 0) << "otherwise the test could not tell muon from adamw";
    } else {
      EXPECT_EQ(x[i], others[i]) << i;
    }
  }
}

TEST(Muon, follows_its_formula_in_double_for_hidden_matrices_and_adamw_for_the_others) { expect_steps(kOfModel, {7}); }

TEST(Muon, makes_matrices_that_lie_side_by_side_orthogonal_one_by_one) {
  std::vector<TensorInfo> tensors = kOfModel;
  tensors[2].parts = {1, 4, 2};
  expect_steps(tensors, {1, 4, 2});
}

// Tensors with one dimension lie in the last block before a hidden matrix and in the first one after it.
TEST(Muon, decays_only_tensors_with_two_or_more_dimensions_if_told) {
  const std::vector<TensorInfo> tensors = {{"embed1.weight", {10, 3}, 0, 30},
                                           {"ln1.scale", {3}, 32, 3},
                                           {"linear1.weight", {5, 7}, 48, 35},
                                           {"linear1.bias", {7}, 96, 7},
                                           {"linear2.weight", {4, 10}, 112, 40, true}};
  constexpr std::size_t kSize = 160;
  const auto mixed = make_optimizer("muon", {{"weight-decay", "0.1"}, {"weight-decay-of", "matrices"}}, kSize, tensors);
  const auto with = make_optimizer("muon", {{"weight-decay", "0.1"}}, kSize, tensors);
  const auto without = make_optimizer("muon", {}, kSize, tensors);
  std::vector<float> x = random_arena(kSize, tensors, 1), y = x, z = x;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    const std::vector<float> g = random_arena(kSize, tensors, 100 * t);
    mixed->update(x, g, 0.01, {});
    with->update(y, g, 0.01, {});
    without->update(z, g, 0.01, {});
  }
  for (const TensorInfo& tensor : tensors) {
    const auto begin = static_cast<std::size_t>(tensor.offset), end = begin + static_cast<std::size_t>(tensor.size);
    for (std::size_t i = begin; i < end; ++i) {
      EXPECT_EQ(x[i], tensor.shape.size() > 1 ? y[i] : z[i]) << tensor.name << ", " << i;
      EXPECT_NE(y[i], z[i]) << "otherwise the test could not tell them apart";
    }
  }
}

TEST(Muon, counts_hidden_matrices_without_the_output) {
  std::vector<TensorInfo> tied = kOfModel, parts = kOfModel;
  tied.back().is_output = false;
  parts[2].parts = {3, 2, 2};
  const auto says = [](const std::vector<TensorInfo>& tensors, const std::string& text) {
    return make_optimizer("muon", {}, kArena, tensors)->equation().find(text) != std::string::npos;
  };
  EXPECT_TRUE(says(kOfModel, "hidden matrices, 2 with 59 parameters"));
  EXPECT_TRUE(says(tied, "hidden matrices, 3 with 99 parameters"));
  EXPECT_TRUE(says(parts, "hidden matrices, 4 with 59 parameters"));
}

TEST(Muon, pulls_matrices_and_the_others_in_the_same_update) {
  for (const bool is_behind : {false, true}) {
    const auto pulling = make_optimizer("muon", kGiven, kArena, kOfModel);
    const auto alone = make_optimizer("muon", kGiven, kArena, kOfModel);
    std::vector<float> x = in_arena(1), without = x, center = in_arena(20), difference = in_arena(30);
    std::vector<float> moved = center;
    for (std::size_t i = 0; i < kArena && is_behind; ++i) moved[i] += difference[i];
    const std::vector<float> before = x, g = in_arena(40);
    pulling->update(x, g, 0.01, Pull{center, 0.25f, difference, is_behind});
    alone->update(without, g, 0.01, {});
    EXPECT_EQ(center, moved);
    for (std::size_t i = 0; i < kArena; ++i) {
      EXPECT_EQ(difference[i], 0.25f * (before[i] - moved[i])) << i;
      EXPECT_NEAR(x[i], without[i] - difference[i], 1e-6) << i;
    }
  }
}

TEST(Muon, keeps_the_whole_matrix_whose_gradient_is_not_finite) {
  const auto muon = make_optimizer("muon", kGiven, kArena, kOfModel);
  std::vector<float> x = in_arena(1);
  EXPECT_TRUE(muon->update(x, in_arena(2), 0.01, {})->get());
  const std::vector<float> before = x;
  std::vector<float> g = in_arena(3);
  g[50] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(muon->update(x, g, 0.01, {})->get());
  for (std::size_t i = 48; i < 83; ++i) EXPECT_EQ(x[i], before[i]);
  EXPECT_NE(x[96], before[96]);
  EXPECT_NE(x[0], before[0]);
  EXPECT_TRUE(muon->update(x, in_arena(4), 0.01, {})->get());
  for (const Slice& vector : muon->state()) {
    for (const float value : vector) EXPECT_TRUE(std::isfinite(value));
  }
}

}  // namespace
}  // namespace eave
