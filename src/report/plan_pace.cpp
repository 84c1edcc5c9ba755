#include "report/plan_pace.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "base/averages.h"

namespace eave {
namespace {

constexpr std::int64_t kMostDraws = std::int64_t{1} << 22, kMostExchanges = 4096, kFewestExchanges = 256;

std::int64_t exchanges_of(int ranks) { return std::clamp(kMostDraws / ranks, kFewestExchanges, kMostExchanges); }

// The growth of the ranks' mean time, once the beginning, where all stand together, is forgotten.
template <class Play>
double growth(std::vector<double>& at, const Play& play) {
  const std::int64_t count = exchanges_of(static_cast<int>(at.size())), start = count / 4;
  double begin = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    if (k == start) begin = mean_of(at);
    play(k);
  }
  return (mean_of(at) - begin) / static_cast<double>(count - start);
}

}  // namespace

double elastic_pace(const PeriodTimes& times, int ranks, double exchange) {
  std::vector<double> at(static_cast<std::size_t>(ranks), 0.0);
  std::mt19937_64 random(1);
  return growth(at, [&](std::int64_t) {
    const double done = *std::ranges::max_element(at) + exchange;
    for (int rank = 0; rank < ranks; ++rank) {
      double& t = at[static_cast<std::size_t>(rank)];
      t = std::max(t + times.draw(rank, random), done);
    }
  });
}

double tree_pace(const PeriodTimes& times, int ranks, const TreePace& tree) {
  const auto size = static_cast<std::size_t>(ranks), group = static_cast<std::size_t>(tree.group);
  std::vector<double> at(size, 0.0), done(size, 0.0);
  double free = 0;  // when first ranks are through with the last exchange between groups
  std::mt19937_64 random(1);
  return growth(at, [&](std::int64_t k) {
    double all_done = 0;
    for (std::size_t begin = 0; begin < size; begin += group) {
      const auto end = std::min(begin + group, size);
      const auto first = at.begin() + static_cast<std::ptrdiff_t>(begin),
                 last = at.begin() + static_cast<std::ptrdiff_t>(end);
      const double ended = std::max(*std::max_element(first, last), free) + tree.within;
      std::fill(done.begin() + static_cast<std::ptrdiff_t>(begin), done.begin() + static_cast<std::ptrdiff_t>(end),
                ended);
      all_done = std::max(all_done, ended);
    }
    if (k % tree.ratio == 0) free = all_done + tree.between;
    for (std::size_t rank = 0; rank < size; ++rank)
      at[rank] = std::max(at[rank] + times.draw(static_cast<int>(rank), random), done[rank]);
  });
}

double pair_pace(const PeriodTimes& times, int ranks, std::int64_t period, double exchange) {
  std::vector<double> at(static_cast<std::size_t>(ranks), 0.0);
  std::vector<std::size_t> order(at.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(1);
  return growth(at, [&](std::int64_t) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    const auto step = [&](std::size_t rank, double met) {
      const double x = times.draw(static_cast<int>(rank), random), of_step = x / static_cast<double>(period);
      at[rank] = std::max(at[rank] + of_step, met) + x - of_step;
    };
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
      const double met = std::max(at[order[i]], at[order[i + 1]]) + exchange;
      step(order[i], met);
      step(order[i + 1], met);
    }
    if (order.size() % 2 == 1) step(order.back(), 0);
  });
}

}  // namespace eave
