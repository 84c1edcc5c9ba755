// The methods with local steps once more, in double and in one process, written from their equations alone.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "test/transport/ranks.h"
#include "worker.h"

namespace eave {

using DoubleVector = std::vector<double>;

struct AveragingSimulator {
  AveragingSimulator(const Problem& problem_, int ranks)
      : problem(problem_), p(static_cast<std::size_t>(ranks)), x(p), n(p) {
    const std::vector<float> start = problem.start();
    c.assign(start.begin(), start.end());
    u.assign(start.size(), 0);
    x.assign(p, c);
    v.assign(p, DoubleVector(start.size()));
    for (int rank = 0; rank < ranks; ++rank) targets.push_back(problem.target(rank));
  }

  double gradient(std::size_t i, std::size_t k) const { return problem.curvature(k) * (x[i][k] - targets[i][k]); }

  void move(std::size_t i, std::size_t k, double g) {
    v[i][k] = problem.momentum * v[i][k] + g;
    x[i][k] -= problem.learning_rate * (problem.nesterov ? g + problem.momentum * v[i][k] : v[i][k]);
  }

  double loss(std::size_t i) const {
    double sum = 0;
    for (std::size_t k = 0; k < c.size(); ++k) sum += problem.curvature(k) * std::pow(x[i][k] - targets[i][k], 2) / 2;
    return sum;
  }

  // Every worker by itself; without samples it stands still.
  void step_alone(std::int64_t t) {
    for (std::size_t i = 0; i < p; ++i) {
      const std::int64_t samples = problem.samples(static_cast<int>(i), t);
      n[i] += static_cast<double>(samples);
      loss_since += static_cast<double>(samples) * loss(i);
      if (samples == 0) continue;
      for (std::size_t k = 0; k < c.size(); ++k) move(i, k, gradient(i, k));
    }
  }

  void step_together(std::int64_t t) {
    const auto all = static_cast<double>(problem.samples_everywhere(static_cast<int>(p), t));
    for (std::size_t k = 0; k < c.size(); ++k) {
      double mean = 0;
      for (std::size_t i = 0; i < p; ++i) {
        mean += static_cast<double>(problem.samples(static_cast<int>(i), t)) / all * gradient(i, k);
      }
      for (std::size_t i = 0; i < p; ++i) move(i, k, mean);
    }
  }

  double samples_since() const {
    double sum = 0;
    for (const double each : n) sum += each;
    return sum;
  }

  DoubleVector mean_of(const std::vector<DoubleVector>& vectors) const {
    DoubleVector mean(c.size());
    for (std::size_t i = 0; i < p; ++i) {
      for (std::size_t k = 0; k < c.size(); ++k) mean[k] += n[i] / samples_since() * vectors[i][k];
    }
    return mean;
  }

  // What every exchange ends with: all workers at `point`, their momentum as `momentum` says, counting anew.
  void place_workers(const DoubleVector& point, const std::string& momentum) {
    const DoubleVector mean_velocity = mean_of(v);
    x.assign(p, point);
    if (momentum == "average") v.assign(p, mean_velocity);
    if (momentum == "reset") v.assign(p, DoubleVector(c.size()));
    n.assign(p, 0);
    loss_since = 0;
  }

  void local_sgd_step(std::int64_t t, std::int64_t tau, const std::string& momentum) {
    step_alone(t);
    if ((t + 1) % tau == 0) place_workers(mean_of(x), momentum);
  }

  // v <- eta v + zeta G;  c <- c - v;  workers begin at c, with Nesterov at c - eta v, and G is taken from where they
  // began.
  void bmuf_step(std::int64_t t, std::int64_t tau, double eta, double zeta, bool nesterov) {
    step_alone(t);
    if ((t + 1) % tau != 0) return;
    const DoubleVector mean = mean_of(x);
    DoubleVector begin = c;
    for (std::size_t k = 0; k < c.size(); ++k) {
      const double began = nesterov ? c[k] - eta * u[k] : c[k];
      u[k] = eta * u[k] + zeta * (began - mean[k]);
      c[k] -= u[k];
      begin[k] = nesterov ? c[k] - eta * u[k] : c[k];
    }
    place_workers(begin, "local");
  }

  // u <- beta u + G / gamma;  c <- c - a gamma u.
  void slowmo_step(std::int64_t t, std::int64_t tau, double beta, double a, const std::string& momentum) {
    step_alone(t);
    if ((t + 1) % tau != 0) return;
    const DoubleVector mean = mean_of(x);
    const double gamma = problem.learning_rate;
    for (std::size_t k = 0; k < c.size(); ++k) {
      u[k] = beta * u[k] + (c[k] - mean[k]) / gamma;
      c[k] -= a * gamma * u[k];
    }
    place_workers(c, momentum);
  }

  // Nesterov's SGD on c with the gradient G.
  void diloco_step(std::int64_t t, std::int64_t tau, double rate, double momentum) {
    step_alone(t);
    if ((t + 1) % tau != 0) return;
    const DoubleVector mean = mean_of(x);
    for (std::size_t k = 0; k < c.size(); ++k) {
      const double g = c[k] - mean[k];
      u[k] = momentum * u[k] + g;
      c[k] -= rate * (g + momentum * u[k]);
    }
    place_workers(c, "local");
  }

  Problem problem;
  std::size_t p;
  std::vector<DoubleVector> x, v;
  DoubleVector n;     // samples of each worker since the last exchange
  DoubleVector c, u;  // center and its velocity
  double loss_since = 0;
  std::vector<std::vector<float>> targets;
};

// Float against double at values of order 1: what is simulated contracts, so roundings do not pile up.
inline void expect_near(const std::vector<float>& actual, const DoubleVector& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) ASSERT_NEAR(actual[k], expected[k], tolerance) << k;
}

struct AveragingCourse {
  std::int64_t tau = 1;
  double momentum = 0;
  bool uneven = false;
  bool nesterov = false;

  Problem problem() const {
    return {.learning_rate = 0.05, .momentum = momentum, .nesterov = nesterov, .uneven = uneven};
  }
  std::string describe() const {
    return "tau " + std::to_string(tau) + ", momentum " + std::to_string(momentum) + (nesterov ? ", nesterov" : "") +
           (uneven ? ", uneven" : "");
  }
};

inline std::vector<AveragingCourse> averaging_courses() {
  std::vector<AveragingCourse> all;
  for (const std::int64_t tau : {1, 3, 10}) {
    for (const bool uneven : {false, true}) {
      all.push_back({tau, 0, uneven});
      all.push_back({tau, 0.9, uneven});
    }
    all.push_back({tau, 0.9, true, true});
  }
  return all;
}

inline std::string name_of(const testing::TestParamInfo<Ranks>& each) {
  return each.param.transport + "_" + std::to_string(each.param.count);
}

}  // namespace eave
