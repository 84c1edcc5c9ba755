#include "report/plan/plan_pace.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "base/mean_median.h"

namespace eave {
namespace {

constexpr std::int64_t kMostDraws = std::int64_t{1} << 22, kMostExchanges = 4096, kFewestExchanges = 256;

std::int64_t exchanges_of(int ranks) { return std::clamp(kMostDraws / ranks, kFewestExchanges, kMostExchanges); }

// Draws the computing times of `ranks` ranks, and sums them up.
class Draws {
 public:
  Draws(const PeriodTimes& times, int ranks) : times_(times), ranks_(ranks) {}
  double of(std::size_t rank) {
    const double drawn = times_.draw(static_cast<int>(rank), random_);
    sum_ += drawn;
    return drawn;
  }
  std::mt19937_64& random() { return random_; }
  double mean_of_all() const { return sum_ / ranks_; }
  double expected() const { return times_.mean_of_ranks(ranks_); }

 private:
  const PeriodTimes& times_;
  const int ranks_;
  std::mt19937_64 random_{1};
  double sum_ = 0;
};

// The long-run growth of the ranks' mean time per exchange. The first quarter is left out, because all ranks start
// together. Random draws differ from their mean by chance. So only the waiting is taken from the simulation, and no
// pace is faster than computing.
template <class Play>
double growth(std::vector<double>& at, Draws& draws, const Play& play) {
  const std::int64_t count = exchanges_of(static_cast<int>(at.size())), start = count / 4;
  double begin = 0, drawn_before = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    if (k == start) {
      begin = mean_of(at);
      drawn_before = draws.mean_of_all();
    }
    play(k);
  }
  const double waiting = mean_of(at) - begin - (draws.mean_of_all() - drawn_before);
  return draws.expected() + std::max(0.0, waiting) / static_cast<double>(count - start);
}

}  // namespace

double elastic_pace(const PeriodTimes& times, int ranks, double exchange) {
  std::vector<double> at(static_cast<std::size_t>(ranks), 0.0);
  Draws draws(times, ranks);
  return growth(at, draws, [&](std::int64_t) {
    const double done = *std::ranges::max_element(at) + exchange;
    for (std::size_t rank = 0; rank < at.size(); ++rank) at[rank] = std::max(at[rank] + draws.of(rank), done);
  });
}

double tree_pace(const PeriodTimes& times, int ranks, const TreePace& tree) {
  const auto size = static_cast<std::size_t>(ranks), group = static_cast<std::size_t>(tree.group);
  std::vector<double> at(size, 0.0), done(size, 0.0);
  double free = 0;  // when the last exchange between the groups' first ranks ends
  Draws draws(times, ranks);
  return growth(at, draws, [&](std::int64_t k) {
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
    for (std::size_t rank = 0; rank < size; ++rank) at[rank] = std::max(at[rank] + draws.of(rank), done[rank]);
  });
}

double pair_pace(const PeriodTimes& times, int ranks, std::int64_t period, double exchange) {
  std::vector<double> at(static_cast<std::size_t>(ranks), 0.0);
  std::vector<std::size_t> order(at.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Draws draws(times, ranks);
  return growth(at, draws, [&](std::int64_t) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.random()() % i]);
    const auto step = [&](std::size_t rank, double met) {
      const double x = draws.of(rank), of_step = x / static_cast<double>(period);
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
