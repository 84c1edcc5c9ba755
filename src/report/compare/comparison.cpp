#include "report/compare/comparison.h"

#include "report/compare/learning_rates.h"
#include "report/compare/measures.h"
#include "report/compare/verdict.h"

namespace eave {

Comparison compare_runs(RunList list, std::optional<double> target) {
  Comparison comparison;
  comparison.runs = std::move(list.runs);
  comparison.left_out = std::move(list.left_out);
  comparison.variants = group_runs(comparison.runs);
  comparison.differing = differing_settings(comparison.variants);
  measure_ends(comparison.variants, comparison.runs);
  choose_learning_rates(comparison.variants, comparison.runs);
  measure_speedups(comparison.variants, comparison.runs);
  if (target) {
    comparison.target = {*target, "--target"};
  } else if (const auto common = common_accuracy(comparison.variants, comparison.runs)) {
    comparison.target = {*common, "the highest that every run of every chosen variant reached"};
  }
  if (comparison.target) measure_to_target(comparison.variants, comparison.runs, comparison.target->accuracy);
  comparison.verdict = verdict_of(comparison);
  comparison.notes = notes_on(comparison);
  return comparison;
}

}  // namespace eave
