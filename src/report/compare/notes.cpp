// Implements notes_on of report/compare/comparison.h: what a reader must know before believing a report.
#include <algorithm>
#include <map>
#include <set>

#include "report/compare/comparison.h"
#include "report/record/config.h"

namespace eave {
namespace {

constexpr std::size_t kMostNames = 10;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMostNames ? text + " and " + std::to_string(names.size() - kMostNames) + " more" : text;
}

std::string on_unfinished(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const RunRecord& run : comparison.runs) {
    if (run.end != RunEnd::kFinished) names.push_back(run.name + " (" + word_of(run.end) + ")");
  }
  return names.empty() ? "" : "Not finished, and in no mean: " + listed(names) + ".";
}

std::string on_data(const Comparison& comparison) {
  std::set<std::string> data;
  for (const Variant& variant : comparison.variants) {
    data.insert(setting_in(variant.settings, "data") + " with " + setting_in(variant.settings, "train-samples") +
                " training and " + setting_in(variant.settings, "test-samples") + " test samples");
  }
  if (data.size() < 2) return "";
  return "The data differ, and accuracies on one say nothing of those on another: " +
         listed({data.begin(), data.end()}) + ".";
}

std::string on_learning_rates(const Comparison& comparison) {
  const auto is_by_test = [](const Variant& variant) { return variant.chosen_by_test; };
  if (std::ranges::none_of(comparison.variants, is_by_test)) return "";
  const std::string& name = comparison.metric.name;
  return "No validation " + name + " was recorded: learning rates were chosen by test " + name +
         ", which favours methods that tried more of them (--validation-share records one).";
}

std::string on_repeated_seeds(const Comparison& comparison) {
  std::vector<std::string> labels;
  for (const Variant& variant : comparison.variants) {
    std::set<std::string> seeds;
    for (const std::size_t run : variant.finished) seeds.insert(setting_in(comparison.runs[run].settings, "seed"));
    if (seeds.size() < variant.finished.size()) labels.push_back(variant.label);
  }
  if (labels.empty()) return "";
  return "A seed stands there more than once, and runs of the same seed are not independent: " + listed(labels) + ".";
}

std::string on_speedups(const Comparison& comparison) {
  std::set<std::string> batches;
  for (const Variant& variant : comparison.variants) {
    if (variant.ranks > 1 && variant.accuracy && !variant.speedup) {
      batches.insert(setting_in(variant.settings, "batch") +
                     (setting_in(variant.settings, "batch-means") == "total" ? " in all" : ""));
    }
  }
  if (batches.empty()) return "";
  return "No speed-up is given for batch " + listed({batches.begin(), batches.end()}) +
         ": there is no run of one rank with the same batch per rank.";
}

std::string on_chance(const Comparison& comparison) {
  std::map<std::tuple<std::string, int, double>, int> methods;
  int most = 0;
  for (const Variant& variant : comparison.variants) {
    if (variant.chosen) most = std::max(most, ++methods[{variant.place, variant.ranks, variant.batch_per_rank}]);
  }
  if (most < 3) return "";
  return "p is of one comparison, by Welch's t: the best of several methods against the next best, not corrected for "
         "having looked at several.";
}

}  // namespace

std::vector<std::string> notes_on(const Comparison& comparison) {
  std::vector<std::string> notes = {on_unfinished(comparison),     on_data(comparison),
                                    on_learning_rates(comparison), on_repeated_seeds(comparison),
                                    on_speedups(comparison),       on_chance(comparison)};
  std::erase(notes, "");
  return notes;
}

}  // namespace eave
