// Common parts of the simulations that plans are compared with: measured steps, links, and the tolerance.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "report/plan/plan_model.h"

namespace eave {

using Seconds = std::vector<double>;

// Returns measured steps of some 10 ms, whose scatter has a tail. The last of `ranks` ranks takes `slow` times as long.
inline PlanBasis measured(int ranks, double slow = 1, std::size_t steps = 400) {
  PlanBasis basis;
  std::mt19937_64 random(7);
  std::gamma_distribution<double> tail(2, 0.4e-3);
  for (int rank = 0; rank < ranks; ++rank) {
    Seconds& seconds = basis.step_seconds.emplace_back();
    for (std::size_t step = 0; step < steps; ++step)
      seconds.push_back((9e-3 + tail(random)) * (rank == ranks - 1 ? slow : 1));
  }
  basis.samples_per_step = 32;
  basis.sum_bytes = basis.parameter_bytes = 4e6;
  return basis;
}

// Returns the seconds that rank `rank` computes in `tau` steps from a random place. It computes as measured rank
// `rank` mod R, where R is the number of measured ranks.
inline double computing(const PlanBasis& basis, int rank, std::int64_t tau, std::mt19937_64& random) {
  const Seconds& of_rank = basis.step_seconds[static_cast<std::size_t>(rank) % basis.step_seconds.size()];
  const std::size_t first = random() % (of_rank.size() - static_cast<std::size_t>(tau) + 1);
  double sum = 0;
  for (std::int64_t k = 0; k < tau; ++k) sum += of_rank[first + static_cast<std::size_t>(k)];
  return sum;
}

// A link that carries one message after another. send() returns the time at which the link has carried the message.
class Link {
 public:
  double send(double ready, double seconds) { return free_ = std::max(free_, ready) + seconds; }

 private:
  double free_ = 0;
};

inline void expect_within(double value, double expected, double share, const std::string& what) {
  EXPECT_NEAR(value, expected, share * expected) << what;
}

}  // namespace eave
