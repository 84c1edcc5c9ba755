#include "communicator/center/round_robin_limit.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace eave {
namespace {

constexpr int kPoints = 20000;

// The q for which e^{i·angle} is a root. Only a real and positive q has a meaning.
std::complex<double> q_at(double angle, int workers, double momentum) {
  const std::complex<double> root = std::polar(1.0, angle), lag = std::polar(1.0, angle * (workers - 1));
  return -lag * (root - 1.0) * (root - momentum) / ((1 + momentum) * root - momentum);
}

// Finds the real q between the angles `low` and `high`, at which q's imaginary part has different signs, by bisection.
double real_q_between(double low, double high, int workers, double momentum) {
  const bool begins_below = q_at(low, workers, momentum).imag() < 0;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (q_at(middle, workers, momentum).imag() < 0) == begins_below ? low = middle : high = middle;
  }
  return q_at(low, workers, momentum).real();
}

}  // namespace

double round_robin_limit(int workers, double center_momentum) {
  if (center_momentum == 0) return 2 * std::sin(std::numbers::pi / (4 * workers - 2));
  const double at_minus_one = q_at(std::numbers::pi, workers, center_momentum).real();
  double limit = at_minus_one > 0 ? at_minus_one : std::numeric_limits<double>::infinity();
  // Points are densest near angle 0, because much momentum or many workers place the first crossing there.
  double before = std::numbers::pi / kPoints / kPoints;
  for (int point = 2; point < kPoints; ++point) {
    const double angle = std::numbers::pi * std::pow(static_cast<double>(point) / kPoints, 2);
    const bool crosses =
        (q_at(angle, workers, center_momentum).imag() < 0) != (q_at(before, workers, center_momentum).imag() < 0);
    const double q = crosses ? real_q_between(before, angle, workers, center_momentum) : -1;
    if (q > 0) limit = std::min(limit, q);
    before = angle;
  }
  return limit;
}

double largest_rate_times_curvature(int workers, std::int64_t tau) {
  // With 1 and 2 workers q's limits are 2 and 1. Whatever τ is, 1 − (1 − ηh)^τ first leaves [0, limit) at ηh = 2 and at
  // ηh = 1.
  if (workers <= 2) return workers == 1 ? 2 : 1;
  return 1 - std::pow(1 - round_robin_limit(workers, 0), 1 / static_cast<double>(tau));
}

}  // namespace eave
