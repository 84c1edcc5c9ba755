#include "report/plan/plan_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/mean_median.h"
#include "eave/check.h"

namespace eave {
namespace {

std::vector<double> blocks_of(const std::vector<double>& seconds, std::int64_t period) {
  const auto least = std::max<std::size_t>(1, seconds.size() / 4);
  const std::size_t length = std::min(static_cast<std::size_t>(period), least);
  const double scale = static_cast<double>(period) / static_cast<double>(length);
  std::vector<double> blocks;
  double sum = 0;
  for (std::size_t i = 0; i + 1 < length; ++i) sum += seconds[i];
  for (std::size_t begin = 0; begin < seconds.size(); ++begin) {
    sum += seconds[(begin + length - 1) % seconds.size()];
    blocks.push_back(sum * scale);
    sum -= seconds[begin];
  }
  return blocks;
}

}  // namespace

PeriodTimes::PeriodTimes(const std::vector<std::vector<double>>& step_seconds, std::int64_t period) {
  EAVE_CHECK(!step_seconds.empty() && period >= 1, "no steps to plan with");
  for (const std::vector<double>& seconds : step_seconds) {
    EAVE_CHECK(!seconds.empty(), "a rank without steps");
    blocks_.push_back(blocks_of(seconds, period));
    means_.push_back(mean_of(seconds) * static_cast<double>(period));
    mean_ += means_.back() / static_cast<double>(step_seconds.size());
  }
}

double PeriodTimes::mean_of_ranks(int ranks) const {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += means_[static_cast<std::size_t>(rank) % means_.size()];
  return sum / ranks;
}

double PeriodTimes::expected_longest(int ranks) const {
  std::vector<std::pair<double, std::size_t>> all;  // value, measured rank
  for (std::size_t rank = 0; rank < blocks_.size(); ++rank)
    for (const double value : blocks_[rank]) all.emplace_back(value, rank);
  std::ranges::sort(all);
  const double share = static_cast<double>(ranks) / static_cast<double>(blocks_.size());
  std::vector<std::size_t> below(blocks_.size(), 0);
  std::size_t without = blocks_.size();  // ranks with no value below: G is 0 while there is one
  double logarithm = 0, before = 0, expected = 0;
  for (const auto& [value, rank] : all) {
    const auto count = static_cast<double>(blocks_[rank].size());
    if (below[rank] == 0) --without;
    const double was = below[rank] == 0 ? 0 : std::log(static_cast<double>(below[rank]) / count);
    logarithm += share * (std::log(static_cast<double>(++below[rank]) / count) - was);
    const double now = without > 0 ? 0 : std::exp(std::min(logarithm, 0.0));
    expected += value * (now - before);
    before = now;
  }
  return expected + all.back().first * (1 - before);
}

double PeriodTimes::draw(int rank, std::mt19937_64& random) const {
  const std::vector<double>& blocks = blocks_[static_cast<std::size_t>(rank) % blocks_.size()];
  return blocks[random() % blocks.size()];
}

}  // namespace eave
