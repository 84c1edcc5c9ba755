#include "report/compare/copies.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/record/config.h"

namespace eave {
namespace {

// NaN, a loss that is not known, becomes a number that equals itself.
double comparable(double value) { return std::isnan(value) ? INFINITY : value; }

std::vector<double> numbers_of(const RunRecord& run) {
  std::vector<double> numbers;
  for (const EvaluationPoint& point : run.evaluations) {
    for (const double value : {point.record.center.loss, point.record.center.accuracy})
      numbers.push_back(comparable(value));
  }
  for (const StepPoint& point : run.steps) numbers.push_back(comparable(point.loss));
  return numbers;
}

// A score of 100 % in every evaluation, and nothing else, can be that of runs that differ.
bool tell_runs_apart(const std::vector<double>& numbers) {
  const std::set<double> values(numbers.begin(), numbers.end());
  return values.size() - values.count(INFINITY) > 1;
}

}  // namespace

bool are_copies(const Variant& variant, const std::vector<RunRecord>& runs) {
  if (variant.finished.size() < 2) return false;
  const RunRecord& first = runs[variant.finished.front()];
  const std::vector<double> numbers = numbers_of(first);
  if (!first.settings.contains("program") || !tell_runs_apart(numbers)) return false;
  std::set<std::string> seeds;
  for (const std::size_t run : variant.finished) seeds.insert(setting_in(runs[run].settings, "seed"));
  return seeds.size() > 1 &&
         std::ranges::all_of(variant.finished, [&](std::size_t run) { return numbers_of(runs[run]) == numbers; });
}

}  // namespace eave
