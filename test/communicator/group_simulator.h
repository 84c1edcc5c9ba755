// References for easgd-tree and gossip. They compute in double and in one process, and are written from the methods'
// equations alone.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "simulator.h"

namespace eave {

// All of these trainings are stable, and their values stay below 5, so float follows double closely.
inline std::vector<Problem> group_problems() {
  return {{.learning_rate = 0.05},
          {.learning_rate = 0.05, .momentum = 0.9, .uneven = true},
          {.learning_rate = 0.05, .momentum = 0.9, .nesterov = true, .uneven = true},
          {.learning_rate = 0.05, .momentum = 0.5, .uneven = true, .network = true}};
}

// Elastic averaging in a tree: c is the global center.
struct TreeSimulator : Simulator {
  TreeSimulator(const Problem& problem_, int ranks, std::vector<std::vector<int>> groups_)
      : Simulator(problem_, ranks), groups(std::move(groups_)), centers(groups.size(), c) {}

  void step(std::int64_t t, double alpha, double global_alpha, std::int64_t tau, std::int64_t global_tau) {
    std::vector<Doubles> steps;
    for (std::size_t i = 0; i < x.size(); ++i) steps.push_back(local_step(i, t));
    const bool meets = t > 0 && t % tau == 0;
    if (meets) exchange(alpha, t % global_tau == 0 ? global_alpha : 0);
    for (std::size_t i = 0; i < x.size(); ++i) subtract(i, steps[i]);
  }

  // Each edge of the tree pulls both of its ends together. All pulls use the values from before the exchange.
  void exchange(double alpha, double global_alpha) {
    const std::vector<Doubles> old = centers;
    const Doubles root = c;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (std::size_t k = 0; k < c.size(); ++k) {
        for (const int member : groups[g]) {
          double& worker = x[static_cast<std::size_t>(member)][k];
          const double pull = alpha * (worker - old[g][k]);
          worker -= pull;
          centers[g][k] += pull;
        }
        const double pull = global_alpha * (old[g][k] - root[k]);
        centers[g][k] -= pull;
        c[k] += pull;
      }
    }
  }

  std::size_t group_of(int rank) const {
    std::size_t g = 0;
    while (std::ranges::count(groups[g], rank) == 0) ++g;
    return g;
  }

  std::vector<std::vector<int>> groups;
  std::vector<Doubles> centers;
};

// Elastic averaging of pairs of workers, without a center.
struct GossipSimulator : Simulator {
  using Simulator::Simulator;

  // `pairs` are the pairs that exchange in step t; empty if step t has no exchange.
  void step(std::int64_t t, const std::vector<std::pair<int, int>>& pairs, double alpha) {
    std::vector<Doubles> steps;
    for (std::size_t i = 0; i < x.size(); ++i) steps.push_back(local_step(i, t));
    for (const auto& [a, b] : pairs) {
      Doubles &first = x[static_cast<std::size_t>(a)], &second = x[static_cast<std::size_t>(b)];
      for (std::size_t k = 0; k < first.size(); ++k) {
        const double pull = alpha * (first[k] - second[k]);
        first[k] -= pull;
        second[k] += pull;
      }
    }
    for (std::size_t i = 0; i < x.size(); ++i) subtract(i, steps[i]);
  }

  Doubles mean() const {
    Doubles mean(x[0].size());
    for (const Doubles& each : x) {
      for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += each[k] / static_cast<double>(x.size());
    }
    return mean;
  }
};

}  // namespace eave
