#include "report/compare/copies.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/record/config.h"

namespace eave {
namespace {

struct Numbers {
  std::vector<double> losses, scores;
  bool operator==(const Numbers&) const = default;
};

// NaN, a loss that is not known, becomes a number that equals itself.
double comparable(double value) { return std::isnan(value) ? INFINITY : value; }

Numbers numbers_of(const RunRecord& run) {
  Numbers numbers;
  for (const EvaluationPoint& point : run.evaluations) {
    numbers.losses.push_back(comparable(point.record.center.loss));
    numbers.scores.push_back(comparable(point.record.center.accuracy));
  }
  for (const StepPoint& point : run.steps) numbers.losses.push_back(comparable(point.loss));
  return numbers;
}

std::size_t distinct(const std::vector<double>& numbers) {
  const std::set<double> values(numbers.begin(), numbers.end());
  return values.size() - values.count(INFINITY);
}

// Runs that differ may have equal scores, such as 50 % and then 100 %. Hardly ever are several losses equal.
bool tell_runs_apart(const Numbers& numbers) {
  constexpr std::size_t kEnoughLosses = 3, kEnoughScores = 10;
  return distinct(numbers.losses) >= kEnoughLosses || distinct(numbers.scores) >= kEnoughScores;
}

}  // namespace

bool are_copies(const Variant& variant, const std::vector<RunRecord>& runs) {
  if (variant.finished.size() < 2) return false;
  const RunRecord& first = runs[variant.finished.front()];
  const Numbers numbers = numbers_of(first);
  if (!first.settings.contains("program") || !tell_runs_apart(numbers)) return false;
  std::set<std::string> seeds;
  for (const std::size_t run : variant.finished) seeds.insert(setting_in(runs[run].settings, "seed"));
  return seeds.size() > 1 &&
         std::ranges::all_of(variant.finished, [&](std::size_t run) { return numbers_of(runs[run]) == numbers; });
}

}  // namespace eave
