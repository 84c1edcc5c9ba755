#include "report/compare/significance.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/options/number_text.h"

namespace eave {
namespace {

using SeedStudentsT =
    boost::math::students_t_distribution<double,
                                         boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

constexpr double kLevel = 0.05, kPower = 0.8;
constexpr std::size_t kMostSeeds = 1000;
constexpr double kRoundingOfMeans = 1e-12;  // relative

double upper_quantile(double freedom, double tail) {
  return boost::math::quantile(boost::math::complement(SeedStudentsT(freedom), tail));
}

// Mean and variance; the variance has divisor n - 1 and is at least `least`.
struct Moments {
  double n = 0, mean = 0, variance = 0;
};

Moments moments_of(const std::vector<double>& values, double least) {
  Moments moments;
  moments.n = static_cast<double>(values.size());
  moments.mean = mean_of(values);
  for (const double value : values) moments.variance += (value - moments.mean) * (value - moments.mean);
  moments.variance = moments.n > 1 ? std::max(moments.variance / (moments.n - 1), least) : 0;
  return moments;
}

// The values of `b` in the order of `a`'s seeds. Nothing if the seeds are not the same, or one stands there twice.
std::optional<std::vector<double>> by_seeds_of(const SeededValues& a, const SeededValues& b) {
  if (a.seeds.size() != b.seeds.size()) return std::nullopt;
  std::vector<double> values;
  for (const std::string& seed : a.seeds) {
    const auto found = std::ranges::find(b.seeds, seed);
    if (found == b.seeds.end() || std::ranges::count(a.seeds, seed) > 1 || std::ranges::count(b.seeds, seed) > 1)
      return std::nullopt;
    values.push_back(b.values[static_cast<std::size_t>(found - b.seeds.begin())]);
  }
  return values;
}

// Whether the results of the same seed rise and fall together: one-sided test of their correlation. Only then a pair
// carries more than two single values; otherwise pairing would give degrees of freedom away for nothing.
bool rise_together(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return false;
  const Moments of_a = moments_of(a, 0), of_b = moments_of(b, 0);
  const auto is_rounding = [](const Moments& of) {
    return std::sqrt(of.variance) <= kRoundingOfMeans * std::abs(of.mean);
  };
  if (is_rounding(of_a) || is_rounding(of_b)) return false;  // equal values scatter by what their sum was rounded to
  double both = 0;
  for (std::size_t i = 0; i < a.size(); ++i) both += (a[i] - of_a.mean) * (b[i] - of_b.mean);
  const double scatter = std::sqrt(of_a.variance * of_b.variance) * (of_a.n - 1);
  const double r = std::min(both / scatter, 1.0), freedom = of_a.n - 2;
  return r >= 1 || r * std::sqrt(freedom / (1 - r * r)) > upper_quantile(freedom, kLevel);
}

// The difference of two methods on the scale of the test, with what is needed for other numbers of seeds.
struct Test {
  bool is_paired = false;
  double mean = 0;
  Moments first, second;  // of the differences alone, if paired

  double squared_error(double n_first, double n_second) const {
    return first.variance / n_first + (is_paired ? 0 : second.variance / n_second);
  }
  double error() const { return std::sqrt(squared_error(first.n, second.n)); }
  double freedom(double n_first, double n_second) const {
    const double a = first.variance / n_first, b = second.variance / n_second;
    if (is_paired || a + b == 0) return n_first - 1;
    return (a + b) * (a + b) / (a * a / (n_first - 1) + b * b / (n_second - 1));
  }
  double raw_p() const {
    if (error() == 0) return mean == 0 ? 1 : 0;
    const SeedStudentsT distribution(freedom(first.n, second.n));
    return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(mean) / error()));
  }
  double half_width(double level) const {
    return error() == 0 ? 0 : upper_quantile(freedom(first.n, second.n), level / 2) * error();
  }
  std::optional<std::size_t> more_seeds(double level) const {
    if (mean == 0 || error() == 0) return std::nullopt;
    const auto is_enough = [&](std::size_t more) {
      const double n = first.n + static_cast<double>(more), m = second.n + static_cast<double>(more);
      const double free = freedom(n, m), needed = upper_quantile(free, level / 2) + upper_quantile(free, 1 - kPower);
      return needed * std::sqrt(squared_error(n, m)) <= std::abs(mean);
    };
    if (!is_enough(kMostSeeds)) return std::nullopt;
    std::size_t few = 0, enough = kMostSeeds;  // bisection: what is enough stays enough with more seeds
    while (enough - few > 1) {
      const std::size_t middle = (few + enough) / 2;
      (is_enough(middle) ? enough : few) = middle;
    }
    return enough;
  }
};

// The mean of equal values depends on their number in the last bits. So this is the least difference of means that
// says anything. A logarithm has the relative error of its value.
double rounding_of(const Moments& best, const Moments& other, bool is_ratio) {
  const double scale = std::max(std::abs(best.mean), std::abs(other.mean));
  return kRoundingOfMeans * (is_ratio ? std::max(scale, 1.0) : scale);
}

// The values are on the scale of the test.
Test test_of(const SeededValues& best, const SeededValues& other, const MeasureKind& kind) {
  const double least = kind.resolution * kind.resolution / 12;  // the variance of what rounding to the resolution hides
  const auto partners = by_seeds_of(best, other);
  Test test;
  test.first = moments_of(best.values, least);
  test.second = moments_of(other.values, least);
  test.mean = test.first.mean - test.second.mean;
  const double rounding = rounding_of(test.first, test.second, kind.is_ratio);
  if (partners && rise_together(best.values, *partners)) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < best.values.size(); ++i) differences.push_back(best.values[i] - (*partners)[i]);
    test.is_paired = true;
    test.first = test.second = moments_of(differences, 2 * least);
    test.mean = test.first.mean;
  }
  if (std::abs(test.mean) <= rounding) test.mean = 0;
  return test;
}

std::vector<SeededValues> on_scale(const std::vector<SeededValues>& methods, const MeasureKind& kind) {
  std::vector<SeededValues> scaled = methods;
  for (SeededValues& method : scaled) {
    for (double& value : method.values) value = kind.is_ratio ? std::log(value) : value;
  }
  return scaled;
}

double pairs_of(std::size_t methods) { return static_cast<double>(methods * (methods - 1)) / 2; }

// Holm's correction over all pairs of methods, because the best one is chosen by the same results. In Shaffer's form:
// if the best differs from one method, at most the pairs of one method fewer can still be without a difference.
void correct(std::vector<Contrast>& contrasts, const std::vector<Test>& tests, std::size_t methods) {
  std::vector<std::size_t> by_p;
  for (std::size_t i = 0; i < contrasts.size(); ++i) {
    if (contrasts[i].is_known) by_p.push_back(i);
  }
  std::ranges::sort(by_p, {}, [&](std::size_t i) { return contrasts[i].p; });
  double before = 0, divisor = pairs_of(methods);
  for (const std::size_t i : by_p) {
    Contrast& contrast = contrasts[i];
    const double half = tests[i].half_width(kLevel / divisor);
    contrast.p = before = std::max(before, std::min(1.0, contrast.p * divisor));
    contrast.is_apart = contrast.p <= kLevel;
    contrast.low = contrast.effect - half;
    contrast.high = contrast.effect + half;
    if (!contrast.is_apart) contrast.more_seeds = tests[i].more_seeds(kLevel / divisor);
    // If this one is not apart, the rest keeps its divisor, so that each interval agrees with its p.
    if (contrast.is_apart) divisor = std::max(1.0, pairs_of(methods - 1));
  }
}

}  // namespace

SeededValues by_seed(const SeededValues& runs) {
  SeededValues means;
  std::vector<double> counts;
  for (std::size_t run = 0; run < runs.values.size(); ++run) {
    const std::string& seed = runs.seeds[run];
    auto place = static_cast<std::size_t>(std::ranges::find(means.seeds, seed) - means.seeds.begin());
    if (seed.empty() || place == means.seeds.size()) {
      place = means.seeds.size();
      means.seeds.push_back(seed);
      means.values.push_back(0);
      counts.push_back(0);
    }
    means.values[place] += runs.values[run];
    ++counts[place];
  }
  for (std::size_t place = 0; place < counts.size(); ++place) means.values[place] /= counts[place];
  return means;
}

bool Ranking::has_first() const { return !contrasts.empty() && std::ranges::all_of(contrasts, &Contrast::is_apart); }

Ranking rank_methods(const std::vector<SeededValues>& methods, const MeasureKind& kind) {
  const std::vector<SeededValues> scaled = on_scale(methods, kind);
  Ranking ranking;
  std::vector<double> means(methods.size());
  for (std::size_t i = 0; i < methods.size(); ++i) {
    if (methods[i].values.empty()) continue;
    ranking.order.push_back(i);
    means[i] = moments_of(scaled[i].values, 0).mean;
    if (std::ranges::any_of(scaled[i].values, [](double value) { return !std::isfinite(value); })) return {};
  }
  std::ranges::stable_sort(ranking.order, [&](std::size_t a, std::size_t b) {
    return kind.lower_is_better ? means[a] < means[b] : means[a] > means[b];
  });
  std::vector<Test> tests;
  for (std::size_t i = 1; i < ranking.order.size(); ++i) {
    const SeededValues &best = scaled[ranking.order[0]], &other = scaled[ranking.order[i]];
    Contrast contrast;
    contrast.other = ranking.order[i];
    contrast.is_known = best.values.size() > 1 && other.values.size() > 1;
    tests.push_back(test_of(best, other, kind));
    if (contrast.is_known) {
      contrast.is_paired = tests.back().is_paired;
      contrast.effect = tests.back().mean;
      contrast.p = tests.back().raw_p();
    }
    ranking.contrasts.push_back(contrast);
  }
  correct(ranking.contrasts, tests, ranking.order.size());
  if (!kind.is_ratio) return ranking;
  for (Contrast& contrast : ranking.contrasts) {
    contrast.effect = std::exp(contrast.effect);
    contrast.low = std::exp(contrast.low);
    contrast.high = std::exp(contrast.high);
  }
  return ranking;
}

}  // namespace eave
