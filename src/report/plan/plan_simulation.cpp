#include "report/plan/plan_simulation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/options/number_text.h"
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
// rank is faster than its computing.
template <class Exchange>
double growth(std::vector<double>& at, Draws& draws, const Exchange& exchange) {
  const std::int64_t count = exchanges_of(static_cast<int>(at.size())), start = count / 4;
  double begin = 0, drawn_before = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    if (k == start) {
      begin = mean_of(at);
      drawn_before = draws.mean_of_all();
    }
    exchange(k);
  }
  const double waiting = mean_of(at) - begin - (draws.mean_of_all() - drawn_before);
  return draws.expected() + std::max(0.0, waiting) / static_cast<double>(count - start);
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

double simulate_elastic(const PeriodTimes& times, int ranks, double exchange) {
  std::vector<double> at(static_cast<std::size_t>(ranks), 0.0);
  Draws draws(times, ranks);
  return growth(at, draws, [&](std::int64_t) {
    const double done = *std::ranges::max_element(at) + exchange;
    for (std::size_t rank = 0; rank < at.size(); ++rank) at[rank] = std::max(at[rank] + draws.of(rank), done);
  });
}

double simulate_tree(const PeriodTimes& times, int ranks, const TreeTiming& tree) {
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
    for (std::size_t rank = 0; rank < size; ++rank) {
      const bool meets = tree.waits && rank % group == 0;
      const double begin = meets ? std::max(done[rank], free) : tree.waits ? done[rank] : at[rank];
      at[rank] = std::max(begin + draws.of(rank), done[rank]);
    }
  });
}

double simulate_pairs(const PeriodTimes& times, int ranks, std::int64_t period, double exchange) {
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
