// A reference for the DOWNPOUR methods with workers in turns. It computes in double and in one process, and is written
// from the methods' equations alone.
#pragma once

#include "test/communicator/simulator.h"

namespace eave {

struct DownpourSimulator : Simulator {
  DownpourSimulator(const Problem& problem_, int workers)
      : Simulator(problem_, workers), pulled(x), z(c), u(c.size()) {}

  // One step of every worker. After each tau steps a worker adds its movement since its last pull to c, and pulls c.
  // `average` is a in z <- (1 - a) z + a c. If it is 0, a = 1/(t+1), with t the number of updates of c.
  void push_step(std::int64_t t, std::int64_t tau, double average) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      subtract(i, local_step(i, t));
      if ((t + 1) % tau != 0) continue;
      for (std::size_t k = 0; k < c.size(); ++k) c[k] += x[i][k] - pulled[i][k];
      x[i] = pulled[i] = c;
      follow_center(average);
    }
  }

  // mdownpour, Nesterov's momentum at the center: u <- delta u - eta (g + decay x), c <- c + u, x_i <- c + delta u.
  void gradient_step(std::int64_t t, double delta, double decay) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      Doubles g(c.size());
      if (problem.samples(static_cast<int>(i), t) > 0) {
        g = losses[i].gradient(x[i]);
        for (std::size_t k = 0; k < c.size(); ++k) g[k] += decay * x[i][k];
      }
      for (std::size_t k = 0; k < c.size(); ++k) {
        u[k] = delta * u[k] - problem.learning_rate * g[k];
        c[k] += u[k];
        x[i][k] = c[k] + delta * u[k];
      }
    }
  }

  void follow_center(double average) {
    const double a = average > 0 ? average : 1 / static_cast<double>(++updates + 1);
    for (std::size_t k = 0; k < c.size(); ++k) z[k] = (1 - a) * z[k] + a * c[k];
  }

  std::vector<Doubles> pulled;
  Doubles z, u;  // average of the center, its velocity
  std::int64_t updates = 0;
};

}  // namespace eave
