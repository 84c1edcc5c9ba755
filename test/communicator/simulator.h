// A reference for the elastic methods. It computes in double and in one process, and is written from the methods'
// equations alone. expect_near compares results in float with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "worker.h"

namespace eave {

// The default tolerance suits values of order 1. The simulated trainings contract, so rounding errors of float do not
// accumulate.
inline void expect_near(const std::vector<float>& actual, const Doubles& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) ASSERT_NEAR(actual[k], expected[k], tolerance) << k;
}

// Expects that any two vectors differ by more than `distance` in some element. Then a comparison with a tolerance far
// below `distance` tells them apart.
inline void expect_apart(const std::vector<Doubles>& all, double distance) {
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      double largest = 0;
      for (std::size_t k = 0; k < all[a].size(); ++k) largest = std::max(largest, std::abs(all[a][k] - all[b][k]));
      EXPECT_GT(largest, distance) << a << " " << b;
    }
  }
}

struct Simulator {
  Simulator(const Problem& problem_, int ranks) : problem(problem_), x(static_cast<std::size_t>(ranks)) {
    const std::vector<float> start = problem.start();
    for (Doubles& each : x) each.assign(start.begin(), start.end());
    v.assign(x.size(), Doubles(start.size()));
    c.assign(start.begin(), start.end());
    pulls = v;
    for (int rank = 0; rank < ranks; ++rank) losses.emplace_back(problem, rank);
  }

  // The vector that worker i subtracts from x in its own step t of SGD. It is 0 if the worker has no samples.
  Doubles local_step(std::size_t i, std::int64_t t) {
    Doubles step(c.size());
    if (t > 0 && problem.rate(t) != problem.rate(t - 1)) change_rate(i, problem.rate(t) / problem.rate(t - 1));
    if (problem.samples(static_cast<int>(i), t) == 0) return step;
    Doubles at = x[i];
    for (std::size_t k = 0; k < at.size(); ++k) at[k] += problem.nesterov ? problem.momentum * v[i][k] : 0;
    const Doubles g = losses[i].gradient(at);
    for (std::size_t k = 0; k < g.size(); ++k) {
      if (problem.nesterov) {  // v <- delta v - eta g(x + delta v), x <- x + v
        v[i][k] = problem.momentum * v[i][k] - problem.rate(t) * g[k];
        step[k] = -v[i][k];
      } else {
        v[i][k] = problem.momentum * v[i][k] + g[k];
        step[k] = problem.rate(t) * v[i][k];
      }
    }
    return step;
  }

  // Corrects Nesterov's momentum when the learning rate changes by `factor`: v, a displacement per step, is scaled to
  // the new rate, and x moves so that the point x + delta v stays where it was.
  void change_rate(std::size_t i, double factor) {
    for (std::size_t k = 0; problem.nesterov && k < c.size(); ++k) {
      const double ahead = x[i][k] + problem.momentum * v[i][k];
      v[i][k] *= factor;
      x[i][k] = ahead - problem.momentum * v[i][k];
    }
  }

  void elastic_step(std::int64_t t, const std::string& order, double alpha, double beta, std::int64_t tau) {
    if (order == "paper" && t > 0 && t % tau == 0) {
      std::vector<Doubles> steps;
      for (std::size_t i = 0; i < x.size(); ++i) steps.push_back(local_step(i, t));
      meet(alpha);
      for (std::size_t i = 0; i < x.size(); ++i) subtract(i, steps[i]);
      return;
    }
    for (std::size_t i = 0; i < x.size(); ++i) subtract(i, local_step(i, t));
    if ((t + 1) % tau != 0) return;
    if (order == "after-step") meet(alpha);
    if (order == "center-first") follow(alpha, beta);
  }

  // x_i <- x_i - alpha (x_i - c);  c <- c + alpha sum_i (x_i - c)
  void meet(double alpha) {
    for (std::size_t k = 0; k < c.size(); ++k) {
      double moved = 0;
      for (Doubles& each : x) {
        const double pull = alpha * (each[k] - c[k]);
        each[k] -= pull;
        moved += pull;
      }
      c[k] += moved;
    }
  }

  void follow(double alpha, double beta) {
    for (std::size_t k = 0; k < c.size(); ++k) {
      double mean = 0;
      for (const Doubles& each : x) mean += each[k] / static_cast<double>(x.size());
      c[k] = (1 - beta) * c[k] + beta * mean;
      for (Doubles& each : x) each[k] -= alpha * (each[k] - c[k]);
    }
  }

  // The workers take turns. Each exchanges with the center and steps, both from its value before step t. The pull of an
  // exchange is subtracted from x `delay` steps later.
  void round_robin_step(std::int64_t t, double alpha, std::int64_t tau, std::int64_t delay = 0) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Doubles step = local_step(i, t);
      for (std::size_t k = 0; k < c.size() && t % tau == 0; ++k) {
        pulls[i][k] = alpha * (x[i][k] - c[k]);
        c[k] += pulls[i][k];
      }
      subtract(i, step);
      if (t >= delay && (t - delay) % tau == 0) subtract(i, pulls[i]);
    }
  }

  // `weight` of a gradient, by the samples of its worker and of all workers.
  void synchronous_step(
      std::int64_t t,
      const std::function<double(double, double)>& weight = [](double mine, double all) { return mine / all; }) {
    const auto all = static_cast<double>(problem.samples_everywhere(static_cast<int>(x.size()), t));
    Doubles mean(c.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto mine = static_cast<double>(problem.samples(static_cast<int>(i), t));
      if (mine == 0) continue;
      const Doubles g = losses[i].gradient(x[i]);
      for (std::size_t k = 0; k < c.size(); ++k) mean[k] += weight(mine, all) * g[k];
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t k = 0; k < c.size(); ++k) {
        v[i][k] = problem.momentum * v[i][k] + mean[k];
        x[i][k] -= problem.learning_rate * v[i][k];
      }
    }
  }

  void reset_to_center() {
    x.assign(x.size(), c);
    pulls = v = std::vector<Doubles>(v.size(), Doubles(c.size()));
  }

  void subtract(std::size_t i, const Doubles& step) {
    for (std::size_t k = 0; k < c.size(); ++k) x[i][k] -= step[k];
  }

  Problem problem;
  std::vector<Doubles> x, v, pulls;
  Doubles c;
  std::vector<WorkerLoss> losses;
};

// Workers of plain SGD and a center, in the precision of the library, for tests of bits.
struct FloatSimulator {
  FloatSimulator(const Problem& problem_, int ranks)
      : problem(problem_), x(static_cast<std::size_t>(ranks), problem.start()), c(problem.start()) {}
  float gradient(std::size_t i, std::size_t k) const {
    const double target = static_cast<double>(problem.target(static_cast<int>(i))[k]);
    return static_cast<float>(problem.curvature(k) * (static_cast<double>(x[i][k]) - target));
  }
  Problem problem;
  float rate = static_cast<float>(problem.learning_rate);
  std::vector<std::vector<float>> x;
  std::vector<float> c;
};

}  // namespace eave
