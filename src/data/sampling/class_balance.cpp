// Tells whether the classes that a rank trains on are as balanced as chance would make them: class_histogram and
// describe_imbalance of eave/dataset.h.
#include <cmath>
#include <cstdio>
#include <numeric>

#include "eave/check.h"
#include "eave/dataset.h"

namespace eave {
namespace {

constexpr double kSigmas = 6.0;  // one-sided normal tail of 1e-9, so that thousands of random shards raise no alarm
constexpr double kSmallestEffect = 0.1;  // Cohen's w; a smaller difference is real but does not matter
constexpr double kFewestExpected = 5.0;  // the usual rule for chi-square; rarer classes form one group

struct Deviation {
  double chi_square = 0;
  int groups = 0;
  std::size_t worst_class = 0;
  double worst = 0;

  void add(double observed, double expected, std::size_t klass) {
    const double term = (observed - expected) * (observed - expected) / expected;
    chi_square += term;
    ++groups;
    if (term <= worst) return;
    worst = term;
    worst_class = klass;
  }
};

double total_of(const std::vector<std::int64_t>& counts) {
  return static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
}

Deviation compare(const std::vector<std::int64_t>& of_rank, const std::vector<std::int64_t>& of_all) {
  const double scale = total_of(of_rank) / total_of(of_all);
  Deviation deviation;
  double rare_observed = 0, rare_expected = 0;
  std::size_t rare_class = of_all.size();
  for (std::size_t klass = 0; klass < of_all.size(); ++klass) {
    const auto observed = static_cast<double>(of_rank[klass]);
    const double expected = scale * static_cast<double>(of_all[klass]);
    if (expected >= kFewestExpected) {
      deviation.add(observed, expected, klass);
    } else {
      rare_observed += observed;
      rare_expected += expected;
      if (rare_class == of_all.size() || of_rank[klass] > of_rank[rare_class]) rare_class = klass;
    }
  }
  if (rare_expected >= kFewestExpected) deviation.add(rare_observed, rare_expected, rare_class);
  return deviation;
}

// Converts chi-square to standard deviations of a normal distribution: the cube root of chi-square is nearly normal.
// Wilson and Hilferty, "The distribution of chi-square", 1931.
double sigmas(double chi_square, int degrees) {
  const double variance = 2.0 / (9.0 * degrees);
  return (std::cbrt(chi_square / degrees) - (1.0 - variance)) / std::sqrt(variance);
}

}  // namespace

std::vector<std::int64_t> class_histogram(const Dataset& dataset, Sampler& sampler, std::int64_t epoch, int rank) {
  if (dataset.tokens() != nullptr) return {};
  std::vector<std::int64_t> histogram(static_cast<std::size_t>(dataset.classes()));
  std::vector<std::int64_t> indices;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    indices.resize(static_cast<std::size_t>(sampler.samples(step, rank)));
    sampler.indices(epoch, step, rank, indices);
    for (const std::int64_t index : indices) ++histogram[static_cast<std::size_t>(dataset.label(index))];
  }
  return histogram;
}

std::string describe_imbalance(const std::vector<std::int64_t>& of_rank, const std::vector<std::int64_t>& of_all,
                               int rank) {
  EAVE_CHECK(of_rank.size() == of_all.size(), "both histograms count the same classes");
  const double samples = total_of(of_rank), all = total_of(of_all);
  if (samples == 0 || all == 0) return "";
  const Deviation deviation = compare(of_rank, of_all);
  if (deviation.groups < 2) return "";
  if (sigmas(deviation.chi_square, deviation.groups - 1) < kSigmas) return "";
  if (std::sqrt(deviation.chi_square / samples) < kSmallestEffect) return "";
  const std::size_t klass = deviation.worst_class;
  char text[256];
  std::snprintf(text, sizeof text,
                "rank %d trains on badly unbalanced classes: class %zu is %.1f %% of its %.0f samples, %.1f %% of all; "
                "--sampling stratified or whole evens this out",
                rank, klass, 100.0 * static_cast<double>(of_rank[klass]) / samples, samples,
                100.0 * static_cast<double>(of_all[klass]) / all);
  return text;
}

}  // namespace eave
