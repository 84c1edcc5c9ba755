// Says which of several methods is first, from one value of each seed. The page's sentence, its stars and its table all
// read this one rule. README.md of this folder gives its reasons.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace eave {

// One value per seed of one method.
struct SeededValues {
  std::vector<std::string> seeds;
  std::vector<double> values;
};

// Takes one value per run, and returns the mean over the runs of each seed, in the order of the first run of each: runs
// of one seed are not independent. A run whose seed is "", not known, counts by itself.
SeededValues by_seed(const SeededValues& runs);

struct MeasureKind {
  bool lower_is_better = false;
  // True: durations, rates and bytes, which are compared by their ratio. The test then uses their logarithms.
  bool is_ratio = false;
  // The step between two possible values: 1 / 100 for an accuracy on 100 samples. Values cannot scatter less than this.
  double resolution = 0;
};

// How two methods differ: the first one found best, and one other.
struct Contrast {
  std::size_t other = 0;  // index of the method
  bool is_known = false;  // false: one of both has a single run, so the scatter is unknown; the rest is then unset
  bool is_paired = false;
  // best - other, or best / other if the measure is a ratio. The interval is as wide as the correction asks for: it
  // excludes 0 (or 1) exactly if is_apart.
  double effect = 0, low = 0, high = 0;
  double p = 1;           // two-sided, corrected
  bool is_apart = false;  // p <= 0.05
  // How many more seeds each would tell both apart, with 80 % power, if effect and scatter stayed as they are. Nothing
  // if they are apart, or if a thousand seeds would not do.
  std::optional<std::size_t> more_seeds;
};

struct Ranking {
  // Indices of methods by their means (of the logarithms, if the measure is a ratio), best first. Methods without
  // values are left out.
  std::vector<std::size_t> order;
  std::vector<Contrast> contrasts;  // order[0] with each of order[1], order[2], …
  bool has_first() const;           // whether order[0] is apart from every other method; false if it is alone
};

// Ranks methods. Values must be finite, and above 0 for a ratio; if one is not, the ranking is empty.
Ranking rank_methods(const std::vector<SeededValues>& methods, const MeasureKind& kind);

}  // namespace eave
