// A reference for local-sgd, bmuf, slowmo and diloco. It computes in double and in one process, and is written from the
// methods' equations alone. Tests compare the real methods with it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "simulator.h"
#include "test/transport/ranks.h"
#include "worker.h"

namespace eave {

struct AveragingSimulator : Simulator {
  AveragingSimulator(const Problem& problem_, int ranks) : Simulator(problem_, ranks), p(x.size()), n(p), u(c.size()) {}

  void move(std::size_t i, std::size_t k, double g) {
    v[i][k] = problem.momentum * v[i][k] + g;
    x[i][k] -= problem.learning_rate * (problem.nesterov ? g + problem.momentum * v[i][k] : v[i][k]);
  }

  // Each worker takes a step of SGD by itself. A worker without samples does not move.
  void step_alone(std::int64_t t) {
    for (std::size_t i = 0; i < p; ++i) {
      const std::int64_t samples = problem.samples(static_cast<int>(i), t);
      n[i] += static_cast<double>(samples);
      loss_since += static_cast<double>(samples) * losses[i](x[i]);
      if (samples == 0) continue;
      const Doubles g = losses[i].gradient(x[i]);
      for (std::size_t k = 0; k < c.size(); ++k) move(i, k, g[k]);
    }
  }

  double samples_since() const {
    double sum = 0;
    for (const double each : n) sum += each;
    return sum;
  }

  Doubles mean_of(const std::vector<Doubles>& vectors) const {
    Doubles mean(c.size());
    for (std::size_t i = 0; i < p; ++i) {
      for (std::size_t k = 0; k < c.size(); ++k) mean[k] += n[i] / samples_since() * vectors[i][k];
    }
    return mean;
  }

  // Ends an exchange: places all workers at `point`, and sets the sample counts and the loss to 0. `momentum` is a
  // value of --worker-momentum: "local" keeps it, "average" takes the workers' mean, and "reset" sets it to 0.
  void place_workers(const Doubles& point, const std::string& momentum) {
    const Doubles mean_velocity = mean_of(v);
    x.assign(p, point);
    if (momentum == "average") v.assign(p, mean_velocity);
    if (momentum == "reset") v.assign(p, Doubles(c.size()));
    n.assign(p, 0);
    loss_since = 0;
  }

  void local_sgd_step(std::int64_t t, std::int64_t tau, const std::string& momentum) {
    step_alone(t);
    if ((t + 1) % tau == 0) place_workers(mean_of(x), momentum);
  }

  // If no worker has had samples since the last exchange, all workers are at the same point, so x[0] is their mean.
  void reset_to_mean() { place_workers(samples_since() > 0 ? mean_of(x) : x[0], "reset"); }

  // Sets the center's velocity to 0, too.
  void reset_to_center() {
    place_workers(c, "reset");
    u.assign(c.size(), 0);
  }

  // u <- eta u + zeta G;  c <- c - u. The workers then begin at c, or with Nesterov at c - eta u. G is the point where
  // the workers began minus their mean.
  void bmuf_step(std::int64_t t, std::int64_t tau, double eta, double zeta, bool nesterov,
                 const std::string& momentum) {
    step_alone(t);
    if ((t + 1) % tau != 0) return;
    const Doubles mean = mean_of(x);
    Doubles begin = c;
    for (std::size_t k = 0; k < c.size(); ++k) {
      const double began = nesterov ? c[k] - eta * u[k] : c[k];
      u[k] = eta * u[k] + zeta * (began - mean[k]);
      c[k] -= u[k];
      begin[k] = nesterov ? c[k] - eta * u[k] : c[k];
    }
    place_workers(begin, momentum);
  }

  // u <- beta u + G / eta;  c <- c - a eta u. G is c minus the workers' mean, eta the learning rate.
  void slowmo_step(std::int64_t t, std::int64_t tau, double beta, double a, const std::string& momentum) {
    step_alone(t);
    if ((t + 1) % tau != 0) return;
    const Doubles mean = mean_of(x);
    const double eta = problem.learning_rate;
    for (std::size_t k = 0; k < c.size(); ++k) {
      u[k] = beta * u[k] + (c[k] - mean[k]) / eta;
      c[k] -= a * eta * u[k];
    }
    place_workers(c, momentum);
  }

  // A step of Nesterov's SGD on c, whose gradient is c minus the workers' mean.
  void diloco_step(std::int64_t t, std::int64_t tau, double rate, double mu, const std::string& momentum) {
    step_alone(t);
    if ((t + 1) % tau != 0) return;
    const Doubles mean = mean_of(x);
    for (std::size_t k = 0; k < c.size(); ++k) {
      const double g = c[k] - mean[k];
      u[k] = mu * u[k] + g;
      c[k] -= rate * (g + mu * u[k]);
    }
    place_workers(c, momentum);
  }

  std::size_t p;
  Doubles n;  // samples of each worker since the last exchange
  Doubles u;  // velocity of the center
  double loss_since = 0;
};

struct AveragingCourse {
  std::int64_t tau = 1;
  double momentum = 0;
  bool uneven = false;
  bool nesterov = false;
  bool network = false;

  Problem problem() const {
    return {.learning_rate = 0.05, .momentum = momentum, .nesterov = nesterov, .uneven = uneven, .network = network};
  }
  std::string describe() const {
    return "tau " + std::to_string(tau) + ", momentum " + std::to_string(momentum) + (nesterov ? ", nesterov" : "") +
           (uneven ? ", uneven" : "") + (network ? ", network" : "");
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
    all.push_back({tau, 0.5, true, false, true});
  }
  return all;
}

}  // namespace eave
