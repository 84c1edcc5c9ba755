#include "train/watch/slow_rank_rule.h"

#include <algorithm>

namespace eave {
namespace {

constexpr double kAbove = 1.5, kFarAbove = 3, kSeconds = 1, kSecondsFarAbove = 0.25;
constexpr std::int64_t kSteps = 30, kStepsFarAbove = 40;

// A rank's number divided by the median of the other ranks' numbers; 0 if either is not known.
double factor_of(const std::vector<ComputingTimes>& window, std::size_t rank, double ComputingTimes::*number) {
  std::vector<double> others;
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (i != rank && window[i].*number > 0) others.push_back(window[i].*number);
  }
  if (others.empty()) return 0;
  const auto median = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::ranges::nth_element(others, median);
  return window[rank].*number / *median;
}

}  // namespace

void SlowRankRule::InARow::count(bool stands_out, std::int64_t more_steps, double seconds_per_step) {
  steps = stands_out ? steps + more_steps : 0;
  seconds = stands_out ? seconds + seconds_per_step * static_cast<double>(more_steps) : 0;
}

std::vector<Straggler> SlowRankRule::add(const std::vector<ComputingTimes>& window, std::int64_t steps) {
  std::vector<Straggler> slow;
  for (std::size_t rank = 0; rank < window.size(); ++rank) {
    Rank& row = ranks_[rank];
    const double factor =
        std::min(factor_of(window, rank, &ComputingTimes::shortest), factor_of(window, rank, &ComputingTimes::mean));
    row.above.count(factor > kAbove, steps, window[rank].mean);
    row.far_above.count(factor > kFarAbove, steps, window[rank].mean);
    const bool is_slow = (row.above.steps >= kSteps && row.above.seconds >= kSeconds) ||
                         (row.far_above.steps >= kStepsFarAbove && row.far_above.seconds >= kSecondsFarAbove);
    if (!is_slow || row.is_named) continue;
    row.is_named = true;
    slow.push_back({static_cast<int>(rank), factor});
  }
  return slow;
}

}  // namespace eave
