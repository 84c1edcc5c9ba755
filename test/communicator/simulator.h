// The methods once more, in double and in one process, written from their equations alone.
#pragma once

#include <string>
#include <vector>

#include "worker.h"

namespace eave {

using Doubles = std::vector<double>;

struct Simulator {
  Simulator(const Problem& problem_, int ranks) : problem(problem_), x(static_cast<std::size_t>(ranks)) {
    const std::vector<float> start = problem.start();
    for (Doubles& each : x) each.assign(start.begin(), start.end());
    v.assign(x.size(), Doubles(start.size()));
    c.assign(start.begin(), start.end());
    for (int rank = 0; rank < ranks; ++rank) targets.push_back(problem.target(rank));
  }

  double gradient(std::size_t i, std::size_t k) const { return gradient_at(x[i][k], i, k); }
  double gradient_at(double at, std::size_t i, std::size_t k) const {
    return problem.curvature(k) * (at - targets[i][k]);
  }

  // By how much worker i steps on its own: not at all without samples.
  double local_step(std::size_t i, std::size_t k, std::int64_t t) {
    if (problem.samples(static_cast<int>(i), t) == 0) return 0;
    if (problem.nesterov) {  // v <- delta v - eta g(x + delta v), x <- x + v
      const double ahead = x[i][k] + problem.momentum * v[i][k];
      v[i][k] = problem.momentum * v[i][k] - problem.learning_rate * gradient_at(ahead, i, k);
      return -v[i][k];
    }
    v[i][k] = problem.momentum * v[i][k] + gradient(i, k);
    return problem.learning_rate * v[i][k];
  }

  void elastic_step(std::int64_t t, const std::string& order, double alpha, double beta, std::int64_t tau) {
    const std::size_t p = x.size();
    for (std::size_t k = 0; k < c.size(); ++k) {
      double moved = 0;
      for (std::size_t i = 0; i < p; ++i) {
        const double pull = order == "paper" && t > 0 && t % tau == 0 ? alpha * (x[i][k] - c[k]) : 0;
        x[i][k] -= local_step(i, k, t) + pull;
        moved += pull;
      }
      if ((t + 1) % tau == 0 && order == "after-step") {
        for (std::size_t i = 0; i < p; ++i) {
          const double pull = alpha * (x[i][k] - c[k]);
          x[i][k] -= pull;
          moved += pull;
        }
      }
      c[k] += moved;
      if ((t + 1) % tau == 0 && order == "center-first") {
        double mean = 0;
        for (std::size_t i = 0; i < p; ++i) mean += x[i][k] / static_cast<double>(p);
        c[k] = (1 - beta) * c[k] + beta * mean;
        for (std::size_t i = 0; i < p; ++i) x[i][k] -= alpha * (x[i][k] - c[k]);
      }
    }
  }

  // Workers meet the center one after another; each pulls and steps from its values before step t.
  void round_robin_step(std::int64_t t, double alpha, std::int64_t tau) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t k = 0; k < c.size(); ++k) {
        const double pull = t % tau == 0 ? alpha * (x[i][k] - c[k]) : 0;
        c[k] += pull;
        x[i][k] -= local_step(i, k, t) + pull;
      }
    }
  }

  void synchronous_step(std::int64_t t) {
    const double all = static_cast<double>(problem.samples_everywhere(static_cast<int>(x.size()), t));
    for (std::size_t k = 0; k < c.size(); ++k) {
      double mean = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        mean += static_cast<double>(problem.samples(static_cast<int>(i), t)) / all * gradient(i, k);
      }
      v[0][k] = problem.momentum * v[0][k] + mean;
      for (Doubles& each : x) each[k] -= problem.learning_rate * v[0][k];
    }
  }

  Problem problem;
  std::vector<Doubles> x, v;
  Doubles c;
  std::vector<std::vector<float>> targets;
};

}  // namespace eave
