// The losses that workers train in tests of communicators. They are small enough for a simulator to follow in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "eave/random.h"

namespace eave {

using Doubles = std::vector<double>;

// Worker i's loss is sum_k curvature(k) (x_k - target_i,k)^2 / 2. With `network`, the first numbers are instead the
// weights of a network of 3 inputs, 4 hidden units (tanh) and one output. It is fitted to 6 points of the worker's own.
struct Problem {
  std::size_t size = 37;
  double learning_rate = 0.1;
  double momentum = 0;
  bool nesterov = false;
  std::int64_t steps = 0;  // of the whole run; 0: the communicator does not know
  bool uneven = false;     // samples per step differ between ranks, and ranks other than 0 sometimes have none
  bool network = false;
  std::int64_t first_step = 0;  // above 0: the run resumes at this step
  std::int64_t drop_at = 0;     // above 0: from this step on, the learning rate is a tenth

  double rate(std::int64_t step) const { return drop_at > 0 && step >= drop_at ? learning_rate / 10 : learning_rate; }
  double curvature(std::size_t k) const { return 0.2 + 0.2 * static_cast<double>(k % 7); }
  std::vector<float> target(int rank) const { return random_floats(10 + static_cast<std::uint64_t>(rank)); }
  std::vector<float> start() const { return random_floats(1); }
  std::int64_t samples(int rank, std::int64_t step) const {
    if (!uneven) return 2;
    return rank == 0 ? 1 + step % 3 : (step + rank) % 4;
  }
  std::int64_t samples_everywhere(int ranks, std::int64_t step) const {
    std::int64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += samples(rank, step);
    return sum;
  }
  std::vector<float> random_floats(std::uint64_t stream) const {
    RandomStream random({.seed = 3, .purpose = Purpose::kTest}, stream);
    std::vector<float> values(size);
    for (float& value : values) value = random.normal();
    return values;
  }
};

// One worker's loss and its gradient.
class WorkerLoss {
 public:
  WorkerLoss(const Problem& problem, int rank) : problem_(problem), target_(problem.target(rank)) {
    const Problem points{.size = kPoints * (kInputs + 1)};
    for (const float value : points.random_floats(50 + static_cast<std::uint64_t>(rank))) points_.push_back(value);
  }

  double operator()(const Doubles& x) const {
    double sum = 0;
    for (std::size_t k = first(); k < x.size(); ++k) {
      sum += problem_.curvature(k) * (x[k] - target_[k]) * (x[k] - target_[k]) / 2;
    }
    if (problem_.network) learn(x, nullptr, sum);
    return sum;
  }

  Doubles gradient(const Doubles& x) const {
    Doubles g(x.size());
    for (std::size_t k = first(); k < x.size(); ++k) g[k] = problem_.curvature(k) * (x[k] - target_[k]);
    double unused = 0;
    if (problem_.network) learn(x, &g, unused);
    return g;
  }

 private:
  static constexpr std::size_t kInputs = 3, kHidden = 4, kPoints = 6, kWeights = kHidden * (kInputs + 2) + 1;
  std::size_t first() const { return problem_.network ? kWeights : 0; }

  // Adds the mean of (output - wanted)^2 / 2 over the points to `loss`, and its gradient to `g`.
  void learn(const Doubles& x, Doubles* g, double& loss) const {
    for (std::size_t point = 0; point < kPoints; ++point) {
      const double* const in = &points_[point * (kInputs + 1)];
      double hidden[kHidden], output = x[kWeights - 1];
      for (std::size_t h = 0; h < kHidden; ++h) {
        const double* const weights = &x[h * (kInputs + 2)];
        double sum = weights[kInputs];
        for (std::size_t j = 0; j < kInputs; ++j) sum += weights[j] * in[j];
        hidden[h] = std::tanh(sum);
        output += weights[kInputs + 1] * hidden[h];
      }
      const double error = (output - in[kInputs]) / static_cast<double>(kPoints);
      loss += error * (output - in[kInputs]) / 2;
      if (g) pass_back(x, in, hidden, error, *g);
    }
  }

  static void pass_back(const Doubles& x, const double* in, const double* hidden, double error, Doubles& g) {
    g[kWeights - 1] += error;
    for (std::size_t h = 0; h < kHidden; ++h) {
      const std::size_t at = h * (kInputs + 2);
      const double back = error * x[at + kInputs + 1] * (1 - hidden[h] * hidden[h]);
      for (std::size_t j = 0; j < kInputs; ++j) g[at + j] += back * in[j];
      g[at + kInputs] += back;
      g[at + kInputs + 1] += error * hidden[h];
    }
  }

  Problem problem_;
  std::vector<float> target_;
  Doubles points_;  // three inputs and the wanted output of each
};

}  // namespace eave
