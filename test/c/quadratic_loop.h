// A loop of SGD on a quadratic, in which tests can provoke errors.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "c/averager.h"

namespace eave {

// Expects that `action` throws a Failure with this code, whose text holds `words`.
template <class Failure, class Action>
void expect_thrown(ExitCode code, const std::string& words, Action action) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown, expected " << words;
  } catch (const Failure& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

// F_i(x) = sum_k h_k (x_k - m_ik)^2 / 2 of rank i. Its gradient has a closed form, so tests can compute it in any
// precision.
struct Quadratic {
  static constexpr std::size_t kSize = 40;
  static double curvature(std::size_t k) { return 0.2 + 0.02 * static_cast<double>(k); }
  static double minimum(int rank, std::size_t k) { return rank + 0.1 * static_cast<double>(k); }
  template <class Number>
  static Number gradient(int rank, std::size_t k, Number x) {
    return static_cast<Number>(curvature(k)) * (x - static_cast<Number>(minimum(rank, k)));
  }
};

struct QuadraticLoop {
  QuadraticLoop(Transport& a_transport, const std::string& options, std::size_t size = Quadratic::kSize)
      : transport(a_transport), x(size, 1), g(size), averager(a_transport, options, x, g) {}

  // Returns whether the optimizer took its step. `spoil` may change the gradients in any way.
  bool step(const std::function<void(std::vector<float>&)>& spoil = {}) {
    averager.begin_step(samples, samples_everywhere, rate);
    for (std::size_t k = 0; k < x.size(); ++k) g[k] = Quadratic::gradient(transport.rank(), k, x[k]);
    if (spoil) spoil(g);
    const bool updates = averager.before_update(0);
    for (std::size_t k = 0; updates && k < x.size(); ++k) x[k] -= static_cast<float>(rate) * g[k];
    averager.after_update();
    return updates;
  }

  std::vector<float> consensus() {
    std::vector<float> into(x.size());
    averager.write_consensus(into);
    return into;
  }

  static constexpr double rate = 0.1;
  std::int64_t samples = 0, samples_everywhere = 0;  // 0: each rank has the same number
  Transport& transport;
  std::vector<float> x, g;
  Averager averager;
};

}  // namespace eave
